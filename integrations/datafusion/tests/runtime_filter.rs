//! Tests runtime filters of joins: the rows are the same as without filters, fewer rows reach the join, and the
//! optimizer rule adds no filters to joins that it must leave alone.

mod support;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::*;
use std::sync::Arc;
use support::{execute, golden, query};
use trommel_datafusion::RuntimeFilterExec;

/// A session with tables of 20,000, 2,000 and 200 rows and with sort-merge joins. Small inputs are filtered too.
async fn context() -> SessionContext {
    let context = support::context(3).await;
    for statement in [
        "CREATE TABLE items AS SELECT id AS item, id % 2000 AS order_id, \
         CASE WHEN id % 11 > 0 THEN id % 300 END AS part FROM numbers",
        "CREATE TABLE orders AS SELECT id AS order_id, id % 200 AS customer, id % 50 AS day FROM numbers WHERE id < 2000",
        "CREATE TABLE customers AS SELECT CAST(id AS INT) AS customer, name, id % 10 AS segment FROM numbers WHERE id < 200",
        "SET datafusion.optimizer.prefer_hash_join = false",
        "SET trommel.runtime_filter.min_probe_rows = 0",
    ] {
        execute(&context, statement).await;
    }
    context
}

/// Sets an option of runtime filters.
async fn switch(context: &SessionContext, option: &str, value: &str) {
    execute(context, &format!("SET trommel.runtime_filter.{option} = '{value}'")).await;
}

/// The rows as sorted lines of text, to compare results whose order is not defined.
fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut rows: Vec<_> = text.lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

async fn plan(context: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    context.sql(sql).await.unwrap().create_physical_plan().await.unwrap()
}

/// All runtime filters of a plan.
fn filters(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let mut found: Vec<_> = plan.children().into_iter().flat_map(filters).collect();
    if plan.downcast_ref::<RuntimeFilterExec>().is_some() {
        found.push(Arc::clone(plan));
    }
    found
}

fn output_rows(plan: &Arc<dyn ExecutionPlan>) -> usize {
    plan.metrics().unwrap().output_rows().unwrap()
}

fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    plan.metrics().unwrap().sum_by_name(name).map_or(0, |value| value.as_usize())
}

/// Queries with joins, each with the number of filters in its plan.
const JOINS: [(&str, usize); 20] = [
    ("SELECT * FROM items JOIN orders USING (order_id) WHERE day = 7", 1),
    ("SELECT * FROM orders JOIN items USING (order_id) WHERE day = 7 AND item > 50", 1),
    ("SELECT * FROM items JOIN orders USING (order_id)", 0),
    ("SELECT * FROM items LEFT JOIN orders ON items.order_id = orders.order_id AND day = 7", 0),
    ("SELECT * FROM orders LEFT JOIN items ON items.order_id = orders.order_id WHERE day = 7", 1),
    ("SELECT * FROM items RIGHT JOIN orders ON items.order_id = orders.order_id WHERE day = 7", 1),
    (
        "SELECT * FROM (SELECT * FROM items WHERE item < 9000) i FULL JOIN (SELECT * FROM orders WHERE day = 7) o ON i.order_id = o.order_id",
        0,
    ),
    ("SELECT * FROM items WHERE order_id IN (SELECT order_id FROM orders WHERE day = 7)", 1),
    ("SELECT * FROM items WHERE order_id NOT IN (SELECT order_id FROM orders WHERE day = 7)", 0),
    (
        "SELECT * FROM orders WHERE day = 7 AND NOT EXISTS (SELECT 1 FROM items WHERE items.order_id = orders.order_id AND part < 100)",
        1,
    ),
    (
        "SELECT * FROM items i JOIN orders o ON i.order_id = o.order_id AND i.item > o.customer WHERE day = 7",
        1,
    ),
    // One filter has customers' keys and selects orders; another has the keys of the selected orders and selects items.
    // The second filter reads the orders' keys through a second copy of the plan of orders, which contains a copy of
    // the first filter. So there are three filters.
    (
        "SELECT * FROM items JOIN orders USING (order_id) JOIN customers USING (customer) WHERE segment = 3",
        3,
    ),
    // The key comes through aliases, projections and groups, or is computed.
    (
        "SELECT * FROM (SELECT order_id AS o, max(item) FROM items GROUP BY order_id) JOIN (SELECT order_id AS p FROM orders WHERE day = 7) ON o = p",
        1,
    ),
    (
        "SELECT * FROM (SELECT max(item) AS o FROM items GROUP BY order_id) JOIN (SELECT order_id AS p FROM orders WHERE day = 7) ON o = p",
        1,
    ),
    (
        "SELECT * FROM (SELECT order_id + 1 AS o FROM items) JOIN (SELECT order_id AS p FROM orders WHERE day = 7) ON o = p",
        1,
    ),
    // The keys can be NULL.
    ("SELECT * FROM items JOIN orders ON part = orders.order_id WHERE day = 7", 1),
    (
        "SELECT * FROM items JOIN orders ON part IS NOT DISTINCT FROM orders.order_id WHERE day = 7",
        0,
    ),
    // A second read of the build side could return different keys, or is not possible.
    (
        "SELECT order_id FROM items JOIN orders USING (order_id) WHERE random() < 2.0 AND day = 7 + CAST(random() AS INT) * 0",
        0,
    ),
    (
        "SELECT * FROM items JOIN (SELECT * FROM orders WHERE day = 7 ORDER BY order_id LIMIT 5) USING (order_id)",
        0,
    ),
    (
        "WITH RECURSIVE steps AS (SELECT 7 AS step UNION ALL SELECT order_id + 50 FROM steps JOIN orders ON step = order_id WHERE step < 900) \
      SELECT * FROM steps JOIN items ON step = order_id WHERE step > 20",
        0,
    ),
];

#[tokio::test]
async fn every_join_has_the_same_rows_with_and_without_filters() {
    let context = context().await;
    for (sql, filtered) in JOINS {
        switch(&context, "enabled", "false").await;
        assert!(
            filters(&plan(&context, sql).await).is_empty(),
            "the plan has a filter although filters are off: {sql}"
        );
        let expected = rows(&query(&context, sql).await);
        switch(&context, "enabled", "true").await;
        for kind in ["split-block-bloom", "cuckoo"] {
            switch(&context, "kind", kind).await;
            let plan = plan(&context, sql).await;
            assert_eq!(
                filters(&plan).len(),
                filtered,
                "{sql}\n{}",
                displayable(plan.as_ref()).indent(false)
            );
            let got = rows(&collect(plan, context.task_ctx()).await.unwrap());
            assert!(got == expected, "{sql}: the rows differ with a filter of kind {kind}");
        }
    }
}

#[tokio::test]
async fn rows_without_a_partner_do_not_reach_the_join() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    let plan = plan(&context, JOINS[0].0).await;
    assert_eq!(
        collect(Arc::clone(&plan), context.task_ctx())
            .await
            .unwrap()
            .iter()
            .map(RecordBatch::num_rows)
            .sum::<usize>(),
        400
    );
    let filter = &filters(&plan)[0];
    assert_eq!(metric(filter, "probe_rows"), 20_000);
    // 400 rows have a partner. Of the other 19,600 rows, 1 % (196) are expected to pass. The limit is six standard
    // deviations (84) higher.
    let passed = output_rows(filter);
    assert!((400..=400 + 196 + 84).contains(&passed), "{passed} rows pass");
    assert!(
        (100..1_000).contains(&metric(filter, "filter_bytes")),
        "the filter has {} bytes",
        metric(filter, "filter_bytes")
    );
    assert_eq!(metric(filter, "filters_switched_off"), 0);
}

#[tokio::test]
async fn rows_with_null_keys_do_not_reach_the_join() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    // The orders of day 7 have the ids 7, 57, …. The column `part` of items has the values 0 to 299 and, in one of
    // eleven items, NULL. Six of the orders' ids are below 300 and occur in `part`, so about 364 items are joined. Of
    // the other 17,800 items whose `part` is not NULL, at most 1 % (178) are expected to pass the filter too.
    let plan =
        plan(&context, "SELECT * FROM items JOIN orders ON part = orders.order_id WHERE day = 7")
            .await;
    let joined: usize = collect(Arc::clone(&plan), context.task_ctx())
        .await
        .unwrap()
        .iter()
        .map(RecordBatch::num_rows)
        .sum();
    let filter = &filters(&plan)[0];
    let passed = output_rows(filter);
    assert!(
        joined > 300 && (joined..=joined + 300).contains(&passed),
        "{joined} rows are joined, {passed} pass the filter"
    );
}

#[tokio::test]
async fn a_filter_that_most_rows_pass_is_switched_off() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    switch(&context, "max_build_share", "10").await;
    switch(&context, "sample_rows", "1000").await;
    let sql = "SELECT count(*) FROM items JOIN orders USING (order_id) WHERE day > 2";
    let plan = plan(&context, sql).await;
    collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
    let filter = &filters(&plan)[0];
    // The keys of 94 % of the rows are in the filter. Each of the 3 partitions decides at the end of the batch with
    // which it has filtered 1,000 rows. A batch has up to 512 rows, so a partition filters fewer than 1,512 rows.
    assert_eq!(metric(filter, "filters_switched_off"), 3);
    let dropped = metric(filter, "probe_rows") - output_rows(filter);
    assert!((1..=3 * 1_512).contains(&dropped), "{dropped} rows are dropped");
    assert_eq!(support::one_number(&context, sql).await, 18_800);
}

#[tokio::test]
async fn sizes_decide_whether_a_filter_is_planned() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    let sql = JOINS[0].0;
    let planned = async |option: &str, value: &str, default: &str| {
        switch(&context, option, value).await;
        let planned = filters(&plan(&context, sql).await).len();
        switch(&context, option, default).await;
        planned
    };
    // The filter is applied to a table of 20,000 rows, and its keys come from a table of 2,000 rows.
    assert_eq!(planned("min_probe_rows", "20000", "0").await, 1);
    assert_eq!(planned("min_probe_rows", "20001", "0").await, 0);
    assert_eq!(planned("max_build_share", "0.1", "0.5").await, 1);
    assert_eq!(planned("max_build_share", "0.09", "0.5").await, 0);
    // Every filter is planned for at least 50,000 keys, but can turn out smaller at run time. With 10.5 bits per key,
    // the planned size of this filter is about 66,000 bytes.
    assert_eq!(planned("max_bytes", "70000", "8388608").await, 1);
    assert_eq!(planned("max_bytes", "60000", "8388608").await, 0);
}

#[tokio::test]
async fn joins_that_datafusion_filters_itself_are_left_alone() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    let count = async || filters(&plan(&context, JOINS[0].0).await).len();
    assert_eq!(count().await, 1);
    execute(&context, "SET datafusion.optimizer.prefer_hash_join = true").await;
    assert_eq!(count().await, 0);
    switch(&context, "all_joins", "true").await;
    assert_eq!(count().await, 1);
    switch(&context, "all_joins", "false").await;
    execute(&context, "SET datafusion.optimizer.enable_join_dynamic_filter_pushdown = false").await;
    assert_eq!(count().await, 1);
}

#[tokio::test]
async fn explain_shows_the_filters() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    for (name, sql) in [("explain_one.txt", JOINS[0].0), ("explain_chain.txt", JOINS[11].0)] {
        let text =
            pretty_format_batches(&query(&context, &format!("EXPLAIN {sql}")).await).unwrap();
        golden(name, &text.to_string());
    }
}

#[tokio::test]
async fn options_are_checked_and_listed() {
    let context = support::context(2).await;
    execute(&context, "SET trommel.runtime_filter.fpr = 0.05").await;
    let sql = "SELECT value FROM information_schema.df_settings WHERE name = 'trommel.runtime_filter.fpr'";
    execute(&context, "SET datafusion.catalog.information_schema = true").await;
    let listed = rows(&query(&context, sql).await).concat();
    assert!(listed.contains("0.05"), "the setting is not listed: {listed}");
    for (option, value) in [
        ("enabled", "perhaps"),
        ("fpr", "0"),
        ("fpr", "1"),
        ("fpr", "NaN"),
        ("kind", "anvil"),
        ("max_bytes", "-1"),
        ("max_pass_share", "1.5"),
        ("max_build_share", "'inf'"),
        ("anvil", "1"),
    ] {
        let error =
            support::refused(&context, &format!("SET trommel.runtime_filter.{option} = {value}"))
                .await;
        assert!(
            error.contains(&format!("runtime_filter.{option}")),
            "the error does not name the option: {error}"
        );
    }
}

#[tokio::test]
async fn limited_and_concurrent_queries_do_not_hang() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    let limited = format!("{} LIMIT 1", JOINS[0].0);
    for _ in 0..10 {
        assert_eq!(
            query(&context, &limited).await.iter().map(RecordBatch::num_rows).sum::<usize>(),
            1
        );
    }
    let mut queries = tokio::task::JoinSet::new();
    for i in 0..8 {
        let (context, sql) = (context.clone(), JOINS[[0, 1, 11][i % 3]].0);
        queries.spawn(async move {
            query(&context, sql).await.iter().map(RecordBatch::num_rows).sum::<usize>()
        });
    }
    let counts =
        tokio::time::timeout(std::time::Duration::from_secs(60), queries.join_all()).await.unwrap();
    assert!(counts.into_iter().all(|count| count > 0));
}

#[tokio::test]
async fn the_memory_pool_counts_the_filter() {
    let context = context().await;
    switch(&context, "enabled", "true").await;
    let plan = plan(&context, JOINS[0].0).await;
    let tiny = datafusion::execution::runtime_env::RuntimeEnvBuilder::new()
        .with_memory_limit(50, 1.0)
        .build_arc()
        .unwrap();
    let task = datafusion::execution::TaskContext::default()
        .with_runtime(tiny)
        .with_session_config(context.copied_config());
    let error = collect(plan, Arc::new(task)).await.unwrap_err().to_string();
    assert!(error.contains("Resources exhausted"), "another error: {error}");
}
