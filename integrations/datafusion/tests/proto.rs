//! Tests that plans have the same text and give the same rows after they are encoded and decoded.
#![cfg(feature = "proto")]

mod support;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::*;
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::logical_plan::DefaultLogicalExtensionCodec;
use datafusion_proto::physical_plan::DefaultPhysicalExtensionCodec;
use std::path::Path;
use std::sync::Arc;
use support::{execute, query};
use trommel_datafusion::proto::{TrommelLogicalCodec, TrommelPhysicalCodec};

const QUERIES: [&str; 3] = [
    "SELECT items.id FROM items JOIN chosen ON items.id = chosen.id WHERE flag = 1",
    "SELECT id FROM items WHERE might_contain((SELECT trommel_filter(id, 0.001, 'cuckoo') FROM chosen WHERE flag = 1), id)",
    "SELECT flag, trommel_filter(id) FROM chosen GROUP BY flag",
];

/// A session with tables in Parquet files, because scans of files can be encoded.
async fn context(folder: &Path) -> SessionContext {
    let context = support::context(2).await;
    for (table, select) in [
        ("items", "SELECT id, name FROM numbers"),
        ("chosen", "SELECT id, id % 100 AS flag FROM numbers WHERE id < 5000"),
    ] {
        let path = folder.join(table).display().to_string();
        query(&context, &format!("COPY ({select}) TO '{path}/' STORED AS PARQUET")).await;
        execute(
            &context,
            &format!("CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{path}/'"),
        )
        .await;
    }
    for option in [
        "datafusion.optimizer.prefer_hash_join = false",
        "trommel.runtime_filter.enabled = true",
        "trommel.runtime_filter.min_probe_rows = 0",
        "trommel.runtime_filter.sample_rows = 777",
    ] {
        execute(&context, &format!("SET {option}")).await;
    }
    context
}

/// The rows as text, sorted.
fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let table = pretty_format_batches(batches).unwrap().to_string();
    let mut lines: Vec<_> = table.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn decoded_physical_plans_give_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path()).await;
    let codec = TrommelPhysicalCodec::new(Arc::new(DefaultPhysicalExtensionCodec {}));
    for (sql, filters) in QUERIES.into_iter().zip([1, 0, 0]) {
        let plan = context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
        let text = displayable(plan.as_ref()).indent(true).to_string();
        assert_eq!(text.matches("RuntimeFilterExec").count(), filters, "{text}");
        let bytes = physical_plan_to_bytes_with_extension_codec(Arc::clone(&plan), &codec).unwrap();
        // This session lacks this crate's functions, like a process that has only the codec.
        let elsewhere = SessionContext::new();
        let arrived =
            physical_plan_from_bytes_with_extension_codec(&bytes, &elsewhere.task_ctx(), &codec)
                .unwrap();
        assert_eq!(displayable(arrived.as_ref()).indent(true).to_string(), text);
        let expected = collect(plan, context.task_ctx()).await.unwrap();
        let got = collect(arrived, Arc::new(TaskContext::default())).await.unwrap();
        assert_eq!(rows(&got), rows(&expected), "{sql}");
    }
}

#[tokio::test]
async fn decoded_logical_plans_give_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path()).await;
    let codec = TrommelLogicalCodec::new(Arc::new(DefaultLogicalExtensionCodec {}));
    for (sql, filters) in QUERIES.into_iter().zip([1, 0, 0]) {
        let plan =
            context.state().optimize(context.sql(sql).await.unwrap().logical_plan()).unwrap();
        assert_eq!(plan.to_string().matches("RuntimeFilter").count(), filters, "{plan}");
        let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &codec).unwrap();
        // This session needs no tables, since the encoding of a scan lists the files that the scan reads.
        let elsewhere = support::context(2).await;
        let arrived =
            logical_plan_from_bytes_with_extension_codec(&bytes, &elsewhere.task_ctx(), &codec)
                .unwrap();
        assert_eq!(arrived.to_string(), plan.to_string());
        let expected = context.execute_logical_plan(plan).await.unwrap().collect().await.unwrap();
        let got = elsewhere.execute_logical_plan(arrived).await.unwrap().collect().await.unwrap();
        assert_eq!(rows(&got), rows(&expected), "{sql}");
    }
}

#[tokio::test]
async fn damaged_plans_do_not_panic_and_damaged_tags_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path()).await;
    let codec = TrommelPhysicalCodec::new(Arc::new(DefaultPhysicalExtensionCodec {}));
    let plan = context.sql(QUERIES[0]).await.unwrap().create_physical_plan().await.unwrap();
    let bytes = physical_plan_to_bytes_with_extension_codec(plan, &codec).unwrap();
    let elsewhere = SessionContext::new();
    let tag = b"trommel.runtime_filter.1";
    let start = bytes.windows(tag.len()).position(|window| window == tag).unwrap();
    let end = start + tag.len();
    // Flips each bit of the tag and of the 40 bytes after the tag. The 40 bytes include the message. A flip in the tag
    // must be refused. A flip after the tag can be refused or accepted, but must not make the decoder panic.
    for bit in start * 8..(end + 40) * 8 {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        let result =
            physical_plan_from_bytes_with_extension_codec(&changed, &elsewhere.task_ctx(), &codec);
        assert!(
            result.is_err() || bit / 8 >= end,
            "a flip of bit {bit} is accepted; the tag begins at byte {start}"
        );
    }
}
