//! The options of runtime filters, which a session sets: `SET trommel.runtime_filter.enabled = true`.

use crate::arguments::{DEFAULT_FPR, DEFAULT_KIND};
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, config_err};
use std::any::Any;
use std::fmt::Display;
use std::str::FromStr;
use trommel::FilterKind;

/// When [`RuntimeFilterRule`](crate::RuntimeFilterRule) filters the inputs of joins, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeFilterOptions {
    /// Whether joins are filtered at all. Default: false.
    pub enabled: bool,
    /// Whether joins get filters even if DataFusion's options `prefer_hash_join` and
    /// `enable_join_dynamic_filter_pushdown` are both on. If both are on, DataFusion's own dynamic filters apply to the
    /// hash joins within one process. Default: false.
    pub all_joins: bool,
    /// The kind of filter. Default: `split-block-bloom`.
    pub kind: FilterKind,
    /// The false-positive rate. Default: 0.01.
    pub fpr: f64,
    /// The maximum size of a filter in bytes. A join is not filtered if its filter would be larger. Default: 8 MiB, as
    /// in Spark.
    pub max_bytes: usize,
    /// An input is not filtered if the tables that are read for the keys have more than `max_build_share` times as many
    /// rows as the tables of the input. Rows that predicates drop are counted too. Default: 0.5.
    pub max_build_share: f64,
    /// The minimum number of rows of the tables of an input. An input is not filtered if its tables are known to have
    /// fewer rows. Default: 100,000.
    pub min_probe_rows: usize,
    /// The sample of a partition is its first `sample_rows` rows, rounded up to whole batches. After the sample, the
    /// partition decides whether it keeps using the filter. With 0, the partition always keeps using the filter.
    /// Default: 65,536.
    pub sample_rows: usize,
    /// The maximum share of the sample's rows whose keys are in the filter. A partition stops using the filter if its
    /// sample has a larger share of such rows. Default: 0.85, as in Velox.
    pub max_pass_share: f64,
}

impl Default for RuntimeFilterOptions {
    fn default() -> Self {
        Self {
            enabled: false,
            all_joins: false,
            kind: DEFAULT_KIND,
            fpr: DEFAULT_FPR,
            max_bytes: 8 << 20,
            max_build_share: 0.5,
            min_probe_rows: 100_000,
            sample_rows: 65_536,
            max_pass_share: 0.85,
        }
    }
}

impl RuntimeFilterOptions {
    /// The options of a session, or the defaults if the session has no such options registered.
    #[must_use]
    pub fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    fn set_option(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "runtime_filter.enabled" => self.enabled = parse(key, value)?,
            "runtime_filter.all_joins" => self.all_joins = parse(key, value)?,
            "runtime_filter.kind" => self.kind = parse(key, value)?,
            "runtime_filter.fpr" => self.fpr = share(key, value)?,
            "runtime_filter.max_bytes" => self.max_bytes = parse(key, value)?,
            "runtime_filter.max_build_share" => self.max_build_share = positive(key, value)?,
            "runtime_filter.min_probe_rows" => self.min_probe_rows = parse(key, value)?,
            "runtime_filter.sample_rows" => self.sample_rows = parse(key, value)?,
            "runtime_filter.max_pass_share" => self.max_pass_share = share(key, value)?,
            _ => return config_err!("there is no option {}.{key}", Self::PREFIX),
        }
        Ok(())
    }
}

impl ConfigExtension for RuntimeFilterOptions {
    const PREFIX: &'static str = "trommel";
}

// Implemented by hand, because DataFusion's macro leaves the prefix out of `entries`. Options without the prefix would
// not reach the scheduler of a cluster.
impl ExtensionOptions for RuntimeFilterOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        self.set_option(key, value)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        vec![
            entry(
                "enabled",
                &self.enabled,
                "filter an input of a join by the keys of the other input",
            ),
            entry(
                "all_joins",
                &self.all_joins,
                "also filter joins to which DataFusion's dynamic filters apply",
            ),
            entry("kind", &self.kind, "kind of filter"),
            entry("fpr", &self.fpr, "false-positive rate"),
            entry("max_bytes", &self.max_bytes, "size limit of a filter, in bytes"),
            entry(
                "max_build_share",
                &self.max_build_share,
                "limit on the rows read for the keys, as a share of the rows to filter",
            ),
            entry("min_probe_rows", &self.min_probe_rows, "inputs of fewer rows are not filtered"),
            entry(
                "sample_rows",
                &self.sample_rows,
                "rows after which a partition decides whether to switch the filter off",
            ),
            entry(
                "max_pass_share",
                &self.max_pass_share,
                "a partition switches off a filter that keeps a larger share of the sample",
            ),
        ]
    }
}

fn entry(name: &str, value: &impl Display, description: &'static str) -> ConfigEntry {
    ConfigEntry {
        key: format!("{}.runtime_filter.{name}", RuntimeFilterOptions::PREFIX),
        value: Some(value.to_string()),
        description,
    }
}

fn parse<T: FromStr<Err: Display>>(key: &str, value: &str) -> Result<T> {
    value
        .parse()
        .or_else(|error| config_err!("{}.{key} = {value}: {error}", RuntimeFilterOptions::PREFIX))
}

fn positive(key: &str, value: &str) -> Result<f64> {
    let number: f64 = parse(key, value)?;
    if number.is_finite() && number > 0.0 {
        return Ok(number);
    }
    config_err!("{}.{key} must be above 0 and finite, not {value}", RuntimeFilterOptions::PREFIX)
}

fn share(key: &str, value: &str) -> Result<f64> {
    let number = positive(key, value)?;
    if number < 1.0 {
        return Ok(number);
    }
    config_err!("{}.{key} must be above 0 and below 1, not {value}", RuntimeFilterOptions::PREFIX)
}
