//! Says what it expects behind the text of its arguments.

use small_model::Successor;
use std::error::Error;
use warpsmith::device::{Device, Selector};

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let device = Device::open(&Selector::Auto)?;
    let mut model = Successor::new(&device.stream()?, text.chars().count() as u32)?;
    let next = model.next(&text)?;
    println!(
        "{:?} with {:.0} % ({})",
        next.letter,
        100.0 * next.share,
        device.info().name
    );
    Ok(())
}
