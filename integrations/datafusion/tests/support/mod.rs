//! Sessions with a table, and helpers that run queries in them.

#![allow(dead_code, unreachable_pub)]

use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::datasource::MemTable;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::*;
use std::sync::Arc;

/// The number of rows of the table `numbers`.
const ROWS: i64 = 20_000;

/// A session with this crate's functions and rule, and with the table `numbers` of 20,000 rows in `partitions`
/// partitions. The column `id` counts from 0, and the column `name` is "number " followed by the id.
pub async fn context(partitions: usize) -> SessionContext {
    fill(SessionContext::new_with_config(config(partitions)), partitions).await
}

/// A session like that of [`context`], but with a memory limit of `bytes`.
pub async fn context_of_memory(partitions: usize, bytes: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc().unwrap();
    fill(SessionContext::new_with_config_rt(config(partitions), runtime), partitions).await
}

fn config(partitions: usize) -> SessionConfig {
    SessionConfig::new().with_target_partitions(partitions).with_batch_size(512)
}

async fn fill(context: SessionContext, partitions: usize) -> SessionContext {
    trommel_datafusion::register_all(&context).unwrap();
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, false),
    ]));
    let batch = |ids: Vec<i64>| {
        let names = StringArray::from_iter_values(ids.iter().map(|id| format!("number {id}")));
        RecordBatch::try_new(
            Arc::clone(&schema),
            vec![Arc::new(Int64Array::from(ids)), Arc::new(names)],
        )
        .unwrap()
    };
    let parts = (0..partitions as i64)
        .map(|part| {
            let ids: Vec<_> = (part..ROWS).step_by(partitions).collect();
            ids.chunks(512).map(|ids| batch(ids.to_vec())).collect()
        })
        .collect();
    context
        .register_table("numbers", Arc::new(MemTable::try_new(Arc::clone(&schema), parts).unwrap()))
        .unwrap();
    context
}

pub async fn query(context: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    let frame = context.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Runs a statement whose result is not needed.
pub async fn execute(context: &SessionContext, sql: &str) {
    query(context, sql).await;
}

/// Runs a query whose result is a single number, and returns the number.
pub async fn one_number(context: &SessionContext, sql: &str) -> i64 {
    let batches = query(context, sql).await;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1, "{sql}");
    batches[0].column(0).as_primitive::<Int64Type>().value(0)
}

/// Returns the error of a query that must fail when it is planned or run.
pub async fn refused(context: &SessionContext, sql: &str) -> String {
    match context.sql(sql).await {
        Err(error) => error.to_string(),
        Ok(frame) => match frame.collect().await {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{sql} was not refused"),
        },
    }
}

/// Compares a text with a file in the folder `golden`. With `TROMMEL_GOLDEN=write`, writes the file first.
pub fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TROMMEL_GOLDEN").as_deref() == Ok("write") {
        std::fs::write(&path, text.to_owned() + "\n").unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected.trim_end_matches('\n'), "{path}; TROMMEL_GOLDEN=write replaces it");
}
