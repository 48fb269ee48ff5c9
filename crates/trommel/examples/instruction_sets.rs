//! Prints the instruction sets that this machine has, one per line, and the one that filters will use.
//!
//! ```sh
//! cargo run -p trommel --example instruction_sets
//! ```

use std::process::ExitCode;
use trommel::Isa;

fn main() -> ExitCode {
    for isa in Isa::available() {
        println!("{isa}");
    }
    // `active` fails if the environment variable TROMMEL_ISA names a set that cannot be used.
    match Isa::active() {
        Ok(active) => {
            eprintln!("in use: {active}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
