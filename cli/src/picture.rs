//! Formats numbers and bars for people.

/// The characters from which bars are drawn, from empty to full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shades(&'static [char]);

impl Shades {
    const BLOCKS: Self = Self(&[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']);
    const ASCII: Self = Self(&[' ', '.', ':', '-', '=', '+', '*', '%', '#']);

    /// Blocks if the locale is UTF-8, else ASCII. The locale is the first non-empty one of `LC_ALL`, `LC_CTYPE` and
    /// `LANG`.
    pub(crate) fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()))
            .unwrap_or_default()
            .to_ascii_uppercase();
        let is_utf_8 = locale.contains("UTF-8") || locale.contains("UTF8");
        if is_utf_8 { Self::BLOCKS } else { Self::ASCII }
    }

    /// A horizontal bar of `width` characters. The share `fraction` of them is full.
    pub(crate) fn bar(self, fraction: f64, width: usize) -> String {
        let filled = (fraction.clamp(0.0, 1.0) * width as f64).round() as usize;
        let (empty, full) = (self.0[0], self.0[self.0.len() - 1]);
        (0..width).map(|i| if i < filled { full } else { empty }).collect()
    }

    /// For each fraction, one character, whose height shows the fraction.
    pub(crate) fn columns(self, fractions: &[f64]) -> String {
        let highest = self.0.len() - 1;
        let shade = |fraction: &f64| {
            let height = (fraction.clamp(0.0, 1.0) * highest as f64).round() as usize;
            // A fraction above zero is never drawn as empty.
            self.0[if *fraction > 0.0 { height.max(1) } else { height }]
        };
        fractions.iter().map(shade).collect()
    }
}

/// A whole number with a comma between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent. Shares from 10 % on have one decimal place; zero and shares from 0.01 % on have three decimal
/// places; smaller shares have three significant digits.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 {
        format!("{percent:.1} %")
    } else if percent >= 0.01 || percent == 0.0 {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.2e} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        let grouped = [0, 999, 1_000, 123_456, 1_234_567].map(grouped);
        assert_eq!(grouped, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }

    #[test]
    fn bars_and_columns_show_their_fractions() {
        assert_eq!(Shades::ASCII.bar(0.25, 8), "##      ");
        assert_eq!(Shades::BLOCKS.columns(&[0.0, 0.001, 0.5, 1.0, 2.0, f64::NAN]), " ▁▄██ ");
    }

    #[test]
    fn blocks_are_drawn_only_in_a_utf_8_locale() {
        let fullest = |set: &'static [(&str, &str)]| {
            let find = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            Shades::of_locale(find).0[8]
        };
        assert_eq!(fullest(&[("LANG", "de_DE.UTF-8")]), '█');
        assert_eq!(fullest(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]), '█');
        assert_eq!(fullest(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), '#');
        assert_eq!(fullest(&[]), '#');
    }

    #[test]
    fn percentages_have_the_stated_digits() {
        let percents = [0.5, 0.0123, 0.0, 1e-9].map(percent);
        assert_eq!(percents, ["50.0 %", "1.230 %", "0.000 %", "1.00e-7 %"]);
    }
}
