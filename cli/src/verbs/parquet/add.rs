//! `trommel parquet add`.

use crate::cli::AddArgs;
use crate::failure::{Failure, ParquetFailure};
use crate::picture::grouped;
use crate::progress::{Bar, warn};
use std::process::ExitCode;
use trommel_parquet::Rewrite;

pub(super) fn run(arguments: &AddArgs) -> Result<ExitCode, Failure> {
    let name = arguments.file.display().to_string();
    let rewrite = arguments.column.iter().fold(Rewrite::new(&arguments.file), |rewrite, column| {
        if arguments.replace {
            rewrite.replace(column, arguments.fpr)
        } else {
            rewrite.add(column, arguments.fpr)
        }
    });
    let output = arguments.output.as_ref().unwrap_or(&arguments.file);
    let bar = Bar::steps("filters");
    let report = rewrite.write_with_progress(output, |done, all| bar.set_step(done, all));
    drop(bar);
    let refused =
        |error| Failure::Parquet { name: name.clone(), error: ParquetFailure::Rewrite(error) };
    let report = report.map_err(refused)?;
    if report.unused_bytes > 0 {
        let unused = grouped(report.unused_bytes);
        let output = output.display();
        warn(&format!("{output}: {unused} bytes of old filters remain in the file unused"));
    }
    Ok(ExitCode::SUCCESS)
}
