//! Parses keys as decimal numbers.

use super::keys::{Words, number};
use super::{Keys, Line, Progress, Source, SourceError};
use crate::cli::KeyType;
use crate::failure::Unreadable;
use std::sync::Arc;

/// A source whose keys are parsed as numbers of `key_type`.
pub(crate) struct Numbers {
    source: Source,
    key_type: KeyType,
    /// For each input, the number of its keys before the current batch.
    keys_before: Vec<u64>,
}

impl Numbers {
    /// Wraps a source so that its keys are parsed as numbers. For [`KeyType::Bytes`], returns the source itself.
    pub(crate) fn of_type(key_type: KeyType, source: Source, progress: &Arc<Progress>) -> Source {
        if key_type == KeyType::Bytes {
            return source;
        }
        Box::new(Self { source, key_type, keys_before: vec![0; progress.keys.len()] })
    }

    fn parse(&mut self, text: Keys) -> Result<Keys, SourceError> {
        let mut words = Vec::new();
        let mut refused = None;
        text.for_each(|key| match number(key, self.key_type) {
            Ok(number) => words.push(number),
            Err(error) => {
                refused.get_or_insert((words.len(), error));
            }
        });
        let (input, lines) = match &text {
            Keys::Lines(block) => (block.input(), None),
            Keys::Column(column) => (column.input, Some(&column.lines)),
            _ => (0, None),
        };
        let before = &mut self.keys_before[input];
        if let Some((index, error)) = refused {
            let line = lines.map_or(*before + index as u64 + 1, |lines| lines[index]);
            let (line, why) = (Line::Number(line), Unreadable::NotNumber(error));
            return Err(SourceError { input, line, why });
        }
        *before += words.len() as u64;
        let words = match self.key_type {
            KeyType::I32 | KeyType::U32 => {
                Words::Narrow(words.into_iter().map(|word| word as u32).collect())
            }
            _ => Words::Wide(words),
        };
        Ok(Keys::Numbers(Box::new(text), words))
    }
}

impl Iterator for Numbers {
    type Item = Result<Keys, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.source.next()?;
        Some(text.and_then(|text| self.parse(text)))
    }
}
