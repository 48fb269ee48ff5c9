//! Counts the lines of the inputs.

use super::Inputs;
use crate::failure::{Failure, Unreadable};
use std::io::{self, Read};

const BLOCK_BYTES: usize = 1 << 18;

/// The number of lines in all inputs, which must be regular files.
pub(crate) fn count_lines(inputs: &Inputs) -> Result<u64, Failure> {
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut lines = 0;
    for input in inputs.iter() {
        let counted = input.open().and_then(|mut reader| count(&mut *reader, &mut buffer));
        let refused = |error| {
            let why = Unreadable::System(error);
            Failure::Read { name: input.to_string(), line: None, why }
        };
        lines += counted.map_err(refused)?;
    }
    Ok(lines)
}

fn count(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<u64> {
    let (mut lines, mut last) = (0, b'\n');
    loop {
        match reader.read(buffer) {
            Ok(0) => return Ok(lines + u64::from(last != b'\n')),
            Ok(read) => {
                lines += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
                last = buffer[read - 1];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_without_a_line_feed_is_counted() {
        for (text, lines) in [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count(&mut text.as_bytes(), &mut [0; 1]).unwrap(), lines, "{text:?}");
        }
    }
}
