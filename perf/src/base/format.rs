//! Formats figures, sizes and counts for people, and lists distinct values.

/// Formats a figure without decimals if it is at least 100, with one decimal if it is at least 10, and else with two.
pub(crate) fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Formats a share in per cent: with three decimals if it is zero or at least 0.1 %, else with an exponent.
pub(crate) fn per_cent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 0.1 || percent == 0.0 {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.1e} %")
    }
}

/// Formats a count with an exponent: exactly, as in `1e6`, if the text then has at most five characters, and else
/// rounded to two digits, as in `7.2e8`.
pub(crate) fn short_count(count: u64) -> String {
    let exact = format!("{count:e}");
    if exact.len() <= 5 { exact } else { format!("{:.1e}", count as f64) }
}

/// Formats a size in the largest binary unit, up to GiB, in which the number is at least one.
pub(crate) fn human_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (unit, shift) in UNITS {
        if bytes >= 1 << shift {
            let value = bytes as f64 / f64::from(1u32 << shift);
            return if value < 10.0 {
                format!("{value:.2} {unit}")
            } else {
                format!("{value:.0} {unit}")
            };
        }
    }
    format!("{bytes} B")
}

/// Returns the distinct values in order of first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_counts_are_shortened() {
        assert_eq!([1234.0, 56.78, 3.456].map(figure), ["1234", "56.8", "3.46"]);
        assert_eq!([1_000_000, 715_827_880].map(short_count), ["1e6", "7.2e8"]);
    }

    #[test]
    fn sizes_are_shown_in_binary_units() {
        assert_eq!(human_bytes(512), "512 B");
        assert_eq!(human_bytes(1_500_000), "1.43 MiB");
        assert_eq!(human_bytes(1 << 30), "1.00 GiB");
    }
}
