//! The model gives the shares that counting gives.

use small_model::Successor;
use std::error::Error;
use warpsmith::device::{Device, Selector, Settings};

/// The letter that followed the last one most often, and its share; all letters alike where it is new.
fn counted(text: &str) -> (char, f32) {
    let letters: Vec<char> = text.chars().collect();
    let last = letters[letters.len() - 1];
    let pairs = letters.windows(2);
    let followed: Vec<char> = pairs
        .filter(|pair| pair[0] == last)
        .map(|pair| pair[1])
        .collect();
    let followed = if followed.is_empty() {
        letters[1..].to_vec()
    } else {
        followed
    };
    let share = |letter| {
        followed.iter().filter(|own| **own == letter).count() as f32 / followed.len() as f32
    };
    // The first of equals.
    let all = [' '].into_iter().chain('a'..='z');
    let best = all.fold(' ', |best, letter| {
        if share(letter) > share(best) {
            letter
        } else {
            best
        }
    });
    (best, share(best))
}

#[test]
fn shares_are_those_of_counting_and_nothing_is_wrong_on_the_way() -> Result<(), Box<dyn Error>> {
    let device = Device::open_with(&Selector::virtual_gpu(), Settings::checking())?;
    let stream = device.stream()?;
    let mut seed = 7u32;
    for len in [2, 3, 17, 64, 131] {
        let mut model = Successor::new(&stream, len)?;
        for alphabet in [2, 5, 26] {
            let text: String = (0..len)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    char::from(b'a' + ((seed >> 16) % alphabet) as u8)
                })
                .collect();
            let (letter, share) = counted(&text);
            let next = model.next(&text)?;
            assert!(
                (next.share - share).abs() < 1e-5,
                "{text}: {next:?}, counted {letter:?} {share}"
            );
            assert_eq!(next.letter, letter, "{text}: {next:?}, counted {share}");
        }
    }
    assert!(Successor::new(&stream, 1).is_err());
    let mut model = Successor::new(&stream, 3)?;
    assert!(model.next("ab").is_err() && model.next("aBc").is_err());
    assert_eq!(device.take_findings(), []);
    Ok(())
}
