//! Generates the tables of TPC-H as Parquet files.

use datafusion::arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::*;
use std::fs::File;
use std::path::Path;
use tpchgen::generators::*;
use tpchgen_arrow::*;

pub const TABLES: [&str; 8] =
    ["nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem"];

/// Writes each missing table into its own folder under `folder`, at the scale factor `scale`. All tables but nation and
/// region are split into `files` files. A folder gets its final name only when the table is complete, so that an
/// interrupted run leaves no table with missing rows.
pub fn generate(folder: &Path, scale: f64, files: i32) {
    for table in TABLES {
        let small = matches!(table, "nation" | "region");
        let files = if small { 1 } else { files };
        let table_folder = folder.join(table);
        if table_folder.exists() {
            continue;
        }
        let partial = folder.join(format!("{table}.partial"));
        std::fs::create_dir_all(&partial).expect("the folder of a table must be creatable");
        for part in 1..=files {
            let path = partial.join(format!("part-{part}.parquet"));
            macro_rules! write_part {
                ($batches:ident, $generator:ident) => {
                    write(&path, $batches::new($generator::new(scale, part, files)))
                };
            }
            match table {
                "nation" => write_part!(NationArrow, NationGenerator),
                "region" => write_part!(RegionArrow, RegionGenerator),
                "part" => write_part!(PartArrow, PartGenerator),
                "supplier" => write_part!(SupplierArrow, SupplierGenerator),
                "partsupp" => write_part!(PartSuppArrow, PartSuppGenerator),
                "customer" => write_part!(CustomerArrow, CustomerGenerator),
                "orders" => write_part!(OrderArrow, OrderGenerator),
                _ => write_part!(LineItemArrow, LineItemGenerator),
            }
        }
        std::fs::rename(&partial, &table_folder).expect("the folder of a table must be renamable");
    }
}

fn write<E: std::fmt::Debug>(path: &Path, batches: impl Iterator<Item = Result<RecordBatch, E>>) {
    let file = File::create(path).expect("the Parquet file must be creatable");
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut batches = batches.map(|batch| batch.expect("the generator cannot fail")).peekable();
    let Some(schema) = batches.peek().map(RecordBatch::schema) else { return };
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties))
        .expect("Parquet must support the schema");
    batches.for_each(|batch| writer.write(&batch).expect("the batch must be writable"));
    writer.close().expect("the footer must be writable");
}

/// Registers the tables of a folder.
pub async fn register(context: &SessionContext, folder: &Path) {
    for table in TABLES {
        let path = folder.join(table).display().to_string();
        context
            .register_parquet(table, &path, ParquetReadOptions::default())
            .await
            .expect("the table must be readable");
    }
}
