//! Tests `trommel_filter` and `might_contain` in SQL, with known sets of keys.

mod support;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::*;
use support::{context, execute, one_number, query, refused};
use trommel::{Filter, FilterKind, FilterView};
use trommel_datafusion::{ALWAYS_TRUE, might_contain, trommel_filter};

/// Runs a query whose result is a single filter, and returns the bytes of the filter.
async fn filter(context: &SessionContext, sql: &str) -> Vec<u8> {
    let batches = query(context, sql).await;
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    let column = batches[0].column(0);
    assert_eq!(column.data_type(), &DataType::BinaryView);
    assert!(column.is_valid(0));
    column.as_binary_view().value(0).to_vec()
}

#[tokio::test]
async fn a_filter_holds_its_keys_and_few_absent_ones() {
    let context = context(8).await;
    for kind in FilterKind::ALL {
        let bytes = filter(
            &context,
            &format!(
                "SELECT trommel_filter(id, 0.01, '{kind}', 20000) FROM numbers WHERE id < 10000"
            ),
        )
        .await;
        let view = FilterView::parse(&bytes).unwrap();
        assert_eq!(view.kind(), *kind);
        assert!((0..10_000i64).all(|id| view.contains(&id)), "{kind}: a key is missing");
        let positives = (1_000_000..1_100_000i64).filter(|id| view.contains(id)).count();
        // The expected number is 1,000, 1 % of 100,000. The limit is six standard deviations (190) higher.
        assert!(positives <= 1_190, "{kind}: {positives} of 100,000 absent keys are found");
    }
}

#[tokio::test]
async fn one_and_eight_partitions_build_the_same_bytes() {
    // A partition keeps the hashes of its keys until the hashes would take more bytes than the filter, and then inserts
    // them into the filter. The merge of the partitions does the same. With 8 partitions, even the merged hashes of the
    // first case are smaller than the filter, so the filter is made at the end. In the second case, the hashes of each
    // partition outgrow the filter. In the last two cases, only the merged hashes outgrow the filter.
    for (keys, rows) in [(1_000_000, 500), (4_000, 20_000), (20_000, 20_000), (100, 64)] {
        let sql = format!(
            "SELECT trommel_filter(id, 0.01, 'split-block-bloom', {keys}) FROM numbers WHERE id < {rows}"
        );
        let one = filter(&context(1).await, &sql).await;
        let eight = filter(&context(8).await, &sql).await;
        assert!(
            one == eight,
            "{keys} keys and {rows} rows: one and eight partitions build different bytes"
        );
        assert!(eight.len() < 40_000, "the filter has {} bytes", eight.len());
    }
}

#[tokio::test]
async fn a_join_by_a_filter_keeps_every_matching_row() {
    let context = context(4).await;
    for key in [
        "id",
        "CAST(id AS INT)",
        "name",
        "CAST(id AS DECIMAL(12, 2))",
        "arrow_cast(name, 'Utf8View')",
    ] {
        let sql =
            |predicate: &str| format!("SELECT count(*) FROM numbers AS probe WHERE {predicate}");
        let exact = one_number(
            &context,
            &sql(&format!("{key} IN (SELECT {key} FROM numbers WHERE id % 100 = 7)")),
        )
        .await;
        assert_eq!(exact, 200);
        let filtered = one_number(
            &context,
            &sql(&format!("might_contain((SELECT trommel_filter({key}, 0.01) FROM numbers WHERE id % 100 = 7), {key})")),
        )
        .await;
        // 200 rows match. Of the other 19,800 rows, 1 % (198) are expected to pass. The limit is six standard
        // deviations (84) higher.
        assert!((200..=200 + 198 + 84).contains(&filtered), "{key}: {filtered} rows pass");
    }
}

#[tokio::test]
async fn every_group_has_its_own_filter() {
    // In the first case, 20 groups have 1,000 rows each; in the others, 2,000 groups have 10 each. The FILTER clause
    // excludes the first row of each group. With 4 partitions and a threshold of 0.0, DataFusion stops partial
    // aggregation after the first batch of a partition, and converts each later row to the state of an aggregate. With
    // a threshold of 1.0, DataFusion never stops partial aggregation.
    for (groups, threshold) in [(20, "0.8"), (2_000, "1.0"), (2_000, "0.0")] {
        for partitions in [1, 4] {
            let context = context(partitions).await;
            for option in
                ["probe_rows_threshold = 1", &format!("probe_ratio_threshold = {threshold}")]
            {
                execute(
                    &context,
                    &format!("SET datafusion.execution.skip_partial_aggregation_{option}"),
                )
                .await;
            }
            let sql = format!(
                "SELECT id % {groups} AS g, trommel_filter(id, 0.001, 'bloom', 1500) FILTER (WHERE id >= {groups}) AS f \
                 FROM numbers GROUP BY id % {groups}"
            );
            let mut seen = 0;
            for batch in query(&context, &sql).await {
                for (group, bytes) in batch
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values()
                    .iter()
                    .zip(batch.column(1).as_binary_view().iter())
                {
                    let view = FilterView::parse(bytes.unwrap()).unwrap();
                    let mut members = (*group..20_000).step_by(groups).skip(1);
                    assert!(
                        members.all(|id| view.contains(&id)),
                        "the filter of group {group} lacks a key of the group"
                    );
                    let others = (0..groups as i64).filter(|id| view.contains(id)).count();
                    assert!(
                        others <= 12,
                        "{others} of the {groups} keys that the FILTER clause excluded are found"
                    );
                    seen += 1;
                }
            }
            assert_eq!(seen, groups);
            // The join gives every row the filter of its group, so `might_contain` gets a column of filters.
            let joined = format!(
                "SELECT count(*) FROM ({sql}) JOIN numbers ON g = id % {groups} WHERE might_contain(f, id)"
            );
            let found = one_number(&context, &joined).await;
            assert!(
                (20_000 - groups as i64..=20_000).contains(&found),
                "{found} of 20,000 rows pass"
            );
        }
    }
}

#[tokio::test]
async fn nulls_are_not_inserted_and_any_filter_might_contain_them() {
    let context = context(4).await;
    let none = filter(&context, "SELECT trommel_filter(CAST(NULL AS BIGINT)) FROM numbers").await;
    assert!(FilterView::parse(&none).unwrap().is_empty());
    let none = filter(&context, "SELECT trommel_filter(id) FROM numbers WHERE id < 0").await;
    assert!(FilterView::parse(&none).unwrap().is_empty());
    let sql = "SELECT count(*) FROM numbers WHERE might_contain((SELECT trommel_filter(id) FROM numbers WHERE id < 0), id)";
    assert_eq!(one_number(&context, sql).await, 0);
    let sql = "SELECT might_contain(NULL, 1), might_contain((SELECT trommel_filter(id) FROM numbers), NULL), \
               might_contain((SELECT trommel_filter(id) FROM numbers WHERE id = 3), 3)";
    let answers = query(&context, sql).await;
    assert!((0..3).all(|column| answers[0].column(column).as_boolean().value(0)));
    let sql = "SELECT count(*) FROM numbers WHERE might_contain((SELECT trommel_filter(id) FROM numbers WHERE id < 0), \
               CASE WHEN id % 2 = 0 THEN id END)";
    assert_eq!(one_number(&context, sql).await, 10_000);
}

#[tokio::test]
async fn a_filter_that_would_be_useless_is_one_byte() {
    let context = context(4).await;
    // With far more keys than expected, the Bloom filter has too many false positives, and the cuckoo and the quotient
    // filter are full.
    for arguments in
        ["id, 0.01, 'bloom', 10", "id, 0.01, 'cuckoo', 100", "id, 0.01, 'quotient', 100"]
    {
        let sql = format!("SELECT trommel_filter({arguments}) FROM numbers");
        assert_eq!(filter(&context, &sql).await, ALWAYS_TRUE, "{arguments}");
        let sql = format!("SELECT count(*) FROM numbers WHERE might_contain(({sql}), -id)");
        assert_eq!(one_number(&context, &sql).await, 20_000);
    }
    // A filter for a billion keys would be larger than the crate's `MAX_FILTER_BYTES`. The first gets few keys, the
    // second many.
    let huge = "SELECT trommel_filter(id, 0.01, 'bloom', 1000000000) FROM numbers";
    let bytes = filter(&context, huge).await;
    assert!(
        bytes.len() < 30_000,
        "a filter of 20,000 keys that was planned for a billion is not small"
    );
    let huge = "SELECT trommel_filter(a.id * 20000 + b.id, 0.01, 'bloom', 1000000000) FROM numbers a, numbers b WHERE b.id < 110";
    assert_eq!(filter(&context, huge).await, ALWAYS_TRUE);
}

#[tokio::test]
async fn bytes_that_are_not_a_filter_are_a_clear_error() {
    let context = context(2).await;
    let bytes = filter(&context, "SELECT trommel_filter(id) FROM numbers").await;
    let literal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let ask = |bytes: &[u8]| {
        format!("SELECT count(*) FROM numbers WHERE might_contain(x'{}', id)", literal(bytes))
    };
    assert_eq!(one_number(&context, &ask(&bytes)).await, 20_000);
    let mut header = bytes.clone();
    header[20] ^= 1;
    let cases: [(&[u8], &str); 5] = [
        (&bytes[..bytes.len() - 1], "bytes"),
        (&header, "checksum"),
        (b"anvil", "these 5 bytes are no filter"),
        (b"", "these 0 bytes are no filter"),
        (&[0], "these 1 bytes are no filter"),
    ];
    for (bytes, message) in cases {
        let error = refused(&context, &ask(bytes)).await;
        assert!(error.contains(message), "no {message:?} in: {error}");
    }
    // `might_contain` recognizes a filter of an earlier query by the header and length alone, and does not verify the
    // filter again. Here the damage is in the table, so the test damages a filter that no earlier query has used.
    let mut damaged =
        filter(&context, "SELECT trommel_filter(id) FROM numbers WHERE id < 30").await;
    *damaged.last_mut().unwrap() ^= 1;
    let error = refused(&context, &ask(&damaged)).await;
    assert!(error.contains("checksum"), "another error: {error}");
}

#[tokio::test]
async fn wrong_arguments_are_refused() {
    let context = context(2).await;
    let cases = [
        ("trommel_filter(id, 1.5)", "1.5"),
        ("trommel_filter(id, 0)", "0"),
        ("trommel_filter(id, 0.01, 'anvil')", "anvil"),
        ("trommel_filter(id, 0.01, 'bloom', 0)", "keys must be 1 or more, not 0"),
        ("trommel_filter(id, 0.01, 'bloom', -5)", "keys must be 1 or more, not -5"),
        ("trommel_filter(id, id)", "fpr must be a literal"),
        ("trommel_filter(id, 0.01, 'bloom', 5, 5)", "not 5 arguments"),
        ("trommel_filter(id, 0.01, 'bloom', 9223372036854775807)", "trommel_filter"),
        ("trommel_filter(make_interval(id))", "make_interval"),
        ("trommel_filter(INTERVAL '1 month')", "cannot be keys"),
        ("might_contain(1, id)", "a filter must be binary, not Int64"),
        ("might_contain(x'00')", "not 1 arguments"),
        ("might_contain(x'00', INTERVAL '1 month')", "cannot be keys"),
    ];
    for (call, message) in cases {
        let error = refused(&context, &format!("SELECT {call} FROM numbers")).await;
        assert!(error.contains(message), "{call}: no {message:?} in: {error}");
    }
}

#[tokio::test]
async fn memory_is_counted_and_exceeding_the_pool_is_an_error() {
    let context = support::context_of_memory(4, 3_000_000).await;
    let sql = "SELECT trommel_filter(id, 0.01, 'bloom', 20000) FROM numbers";
    assert!(filter(&context, sql).await.len() > 3_000);
    // 20,000 groups with 50 hashes of 8 bytes each take 8 MB, more than the 3 MB of the memory pool.
    let sql = "SELECT id, trommel_filter(id + x, 0.01, 'bloom', 1000000) FROM numbers, (SELECT id AS x FROM numbers LIMIT 50) GROUP BY id";
    let error = refused(&context, sql).await;
    assert!(
        error.contains("Resources exhausted") || error.contains("memory"),
        "another error: {error}"
    );
}

#[tokio::test]
async fn dataframes_have_the_functions_too() {
    let context = context(2).await;
    let built = context.table("numbers").await.unwrap().filter(col("id").lt(lit(100))).unwrap();
    let built = built.aggregate(vec![], vec![trommel_filter(col("id")).alias("f")]).unwrap();
    let bytes = built.collect().await.unwrap()[0].column(0).as_binary_view().value(0).to_vec();
    let probed = context
        .table("numbers")
        .await
        .unwrap()
        .filter(might_contain(lit(bytes), col("id")))
        .unwrap();
    let found = probed.count().await.unwrap();
    assert!((100..=100 + 199 + 84).contains(&found), "{found} rows pass");
}

#[tokio::test]
async fn explain_of_a_subquery_filter_is_the_golden_text() {
    let context = context(2).await;
    let sql = "EXPLAIN SELECT count(*) FROM numbers WHERE might_contain((SELECT trommel_filter(id) FROM numbers WHERE id < 9), id)";
    let plan = pretty_format_batches(&query(&context, sql).await).unwrap().to_string();
    support::golden("explain_subquery.txt", &plan);
}
