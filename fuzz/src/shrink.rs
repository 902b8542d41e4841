//! Makes a failing input small: drops pieces, then calms bytes, as long as the same fault remains.

use std::time::{Duration, Instant};

/// The most time spent on one input.
const TIME: Duration = Duration::from_secs(5);

/// The smallest input found that `still_fails` accepts; `input` itself must be one.
pub(crate) fn shrink(mut input: Vec<u8>, mut still_fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let start = Instant::now();
    let mut piece = input.len().next_power_of_two();
    while piece > 0 {
        let mut at = 0;
        let mut dropped = false;
        while at < input.len() {
            if start.elapsed() > TIME {
                return input;
            }
            let mut shorter = input.clone();
            shorter.drain(at..(at + piece).min(input.len()));
            if still_fails(&shorter) {
                input = shorter;
                dropped = true;
            } else {
                at += piece;
            }
        }
        // Single bytes are tried again until none can go.
        if !(piece == 1 && dropped) {
            piece /= 2;
        }
    }
    for at in 0..input.len() {
        for calm in [0, b'0', b' '] {
            if input[at] == calm || start.elapsed() > TIME {
                break;
            }
            let old = std::mem::replace(&mut input[at], calm);
            if still_fails(&input) {
                break;
            }
            input[at] = old;
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bytes_that_matter_are_left() {
        let input = b"a long story with BUG in the middle and ! at the end".to_vec();
        let fails = |bytes: &[u8]| {
            let bug = bytes.windows(3).position(|w| w == b"BUG");
            bug.is_some_and(|at| bytes[at..].contains(&b'!'))
        };
        assert_eq!(shrink(input, fails), b"BUG!");
    }

    #[test]
    fn a_fault_that_needs_a_length_keeps_the_length_with_calm_bytes() {
        assert_eq!(shrink(vec![7; 100], |bytes| bytes.len() >= 9), [0; 9]);
    }

    #[test]
    fn a_fault_on_everything_shrinks_to_nothing() {
        assert!(shrink(vec![1, 2, 3], |_| true).is_empty());
    }
}
