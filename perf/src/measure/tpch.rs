//! Realistic join keys from TPC-H, which are generated in this process. The filter is built on the order keys of three
//! months and probed with the order keys of all line items, as a database does before a join.

use crate::measure::keys::{Column, Probes};
use std::collections::HashSet;
use tpchgen::dates::TPCHDate;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{LineItemGenerator, OrderGenerator};
use tpchgen::text::TextPool;
use trommel::Bitmap;

/// The dates of the orders whose keys are inserted, in days since 1970: from 1995-01-01 to 1995-03-31.
const WINDOW: std::ops::Range<i32> = 9131..9221;

/// Describes the keys for the report.
pub(crate) fn describe(scale: f64) -> String {
    format!(
        "TPC-H at scale {scale}: built on o_orderkey where o_orderdate is in [1995-01-01, 1995-04-01), \
         probed with l_orderkey of every line item"
    )
}

/// Generates the keys to insert and the probes, and computes which probes match.
pub(crate) fn prepare(scale: f64) -> (Column, Probes) {
    // The generator draws comments from a pool of text. A pool of the default size takes longer to create than the
    // rows. Keys and dates do not depend on the pool, so a small one is enough.
    let distributions = Distributions::static_default();
    let pool = TextPool::new(SMALL_POOL, distributions);
    let orders =
        OrderGenerator::new_with_distributions_and_text_pool(scale, 1, 1, distributions, &pool);
    let build: Vec<u64> = orders
        .iter()
        .filter(|order| is_in_window(order.o_orderdate))
        .map(|order| order.o_orderkey as u64)
        .collect();
    let items =
        LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, distributions, &pool);
    let probes: Vec<u64> = items.iter().map(|item| item.l_orderkey as u64).collect();
    let exact: HashSet<u64> = build.iter().copied().collect();
    let mut members = Bitmap::new(probes.len());
    for (i, probe) in probes.iter().enumerate() {
        if exact.contains(probe) {
            members.set(i);
        }
    }
    (Column::Integers(build), Probes { column: Column::Integers(probes), members })
}

/// The size, in bytes, of the pool of text for comments.
const SMALL_POOL: i32 = 1 << 20;

fn is_in_window(date: TPCHDate) -> bool {
    WINDOW.contains(&date.to_unix_epoch())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_three_months_whatever_the_pool_of_text() {
        let (Column::Integers(keys), probes) = prepare(0.001) else { panic!("keys are integers") };
        let reference: Vec<u64> = OrderGenerator::new(0.001, 1, 1)
            .iter()
            .filter(|order| {
                ["1995-01", "1995-02", "1995-03"]
                    .iter()
                    .any(|month| order.o_orderdate.to_string().starts_with(month))
            })
            .map(|order| order.o_orderkey as u64)
            .collect();
        assert_eq!(keys, reference);
        let items: Vec<i64> =
            LineItemGenerator::new(0.001, 1, 1).iter().map(|item| item.l_orderkey).collect();
        let Column::Integers(probed) = &probes.column else { panic!("keys are integers") };
        assert!(probed.iter().map(|key| *key as i64).eq(items));
        // Orders have one to seven items each.
        let matches = probes.members.count_ones();
        assert!(
            (keys.len()..=7 * keys.len()).contains(&matches),
            "{matches} items of {} orders",
            keys.len()
        );
    }
}
