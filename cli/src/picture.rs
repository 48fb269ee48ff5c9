//! Numbers and bars for people.

/// The characters of a picture, from empty to full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shades(&'static [char]);

impl Shades {
    const BLOCKS: Self = Self(&[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']);
    const ASCII: Self = Self(&[' ', '.', ':', '-', '=', '+', '*', '%', '#']);

    /// Blocks where the locale is one of UTF-8, as its three variables say, the first that is set.
    pub(crate) fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()))
            .unwrap_or_default()
            .to_ascii_uppercase();
        let is_utf_8 = locale.contains("UTF-8") || locale.contains("UTF8");
        if is_utf_8 { Self::BLOCKS } else { Self::ASCII }
    }

    /// A bar of `width` characters, `fraction` of it full.
    pub(crate) fn bar(self, fraction: f64, width: usize) -> String {
        let full = (fraction.clamp(0.0, 1.0) * width as f64).round() as usize;
        let (empty, ends) = (self.0[0], self.0[self.0.len() - 1]);
        (0..width).map(|i| if i < full { ends } else { empty }).collect()
    }

    /// A character for each fraction: its height is the fraction.
    pub(crate) fn columns(self, fractions: &[f64]) -> String {
        let most = self.0.len() - 1;
        let shade = |fraction: &f64| {
            let at = (fraction.clamp(0.0, 1.0) * most as f64).round() as usize;
            // Something is never drawn as nothing.
            self.0[if *fraction > 0.0 { at.max(1) } else { at }]
        };
        fractions.iter().map(shade).collect()
    }
}

/// A whole number in groups of three digits.
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

/// A share in percent, with three digits that mean something.
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
    fn bars_are_as_long_and_as_high_as_their_fractions() {
        assert_eq!(Shades::ASCII.bar(0.25, 8), "##      ");
        assert_eq!(Shades::BLOCKS.columns(&[0.0, 0.001, 0.5, 1.0, 2.0, f64::NAN]), " ▁▄██ ");
    }

    #[test]
    fn blocks_are_drawn_in_a_locale_of_utf_8_alone() {
        let first = |set: &'static [(&str, &str)]| {
            let find = |name: &str| {
                set.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned())
            };
            Shades::of_locale(find).0[8]
        };
        assert_eq!(first(&[("LANG", "de_DE.UTF-8")]), '█');
        assert_eq!(first(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]), '█');
        assert_eq!(first(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), '#');
        assert_eq!(first(&[]), '#');
    }

    #[test]
    fn shares_have_three_digits() {
        let percents = [0.5, 0.0123, 0.0, 1e-9].map(percent);
        assert_eq!(percents, ["50.0 %", "1.230 %", "0.000 %", "1.00e-7 %"]);
    }
}
