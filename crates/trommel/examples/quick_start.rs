//! A filter in a few lines: one key, many keys, frozen bytes.
//!
//! ```sh
//! cargo run --release -p trommel --example quick_start
//! ```

use std::error::Error;
use trommel::{Bitmap, Filter, FilterView, SplitBlockBloom};

fn main() -> Result<(), Box<dyn Error>> {
    // Room for a million keys; about one absent key in a hundred is reported as present.
    let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000_000, 0.01)?;

    // One key at a time: a text, an integer or bytes.
    filter.add("anvil");
    println!("anvil: {}, bellows: {}", filter.contains("anvil"), filter.contains("bellows"));

    // Many keys at once: hash them, then insert or look up the hashes.
    let (orders, mut hashes) = ((0..999_999).map(|i| 7 * i).collect::<Vec<u64>>(), Vec::new());
    filter.hasher().hash_batch(&orders, &mut hashes);
    filter.add_batch(&hashes);
    let mut found = Bitmap::new(0);
    filter.contains_batch(&hashes, &mut found);
    println!("{} of {} orders found", found.count_ones(), orders.len());

    // Freeze the filter, and read its bytes in place.
    let bytes = filter.to_bytes();
    let view = FilterView::parse(&bytes)?;
    println!(
        "{:.2} bits per key, {:.2} % false positives, frozen in {} bytes, anvil: {}",
        view.bits_per_key(),
        view.expected_fpr() * 100.0,
        bytes.len(),
        view.contains("anvil")
    );
    Ok(())
}
