//! The engine on small parsers with planted bugs.

use super::*;

/// A parser of `magic, u32 length, bytes` that trusts the length.
struct Trusting;

impl Target for Trusting {
    fn name(&self) -> &'static str {
        "trusting"
    }
    fn seeds(&self) -> Vec<Vec<u8>> {
        vec![b"MAGC\x04\0\0\0abcd and some more text that does not matter".to_vec()]
    }
    fn run(&self, input: &[u8]) {
        let Some(rest) = input.strip_prefix(b"MAGC") else {
            return;
        };
        let Some((length, body)) = rest.split_first_chunk::<4>() else {
            return;
        };
        let length = u32::from_le_bytes(*length) as usize;
        assert!(length <= body.len(), "length {length} of {}", body.len());
    }
}

/// The same parser without the bug.
struct Careful;

impl Target for Careful {
    fn name(&self) -> &'static str {
        "careful"
    }
    fn seeds(&self) -> Vec<Vec<u8>> {
        Trusting.seeds()
    }
    fn run(&self, input: &[u8]) {
        let length = input
            .get(4..8)
            .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")));
        let _body = length.and_then(|length| input.get(8..8usize.checked_add(length as usize)?));
    }
}

/// Loops for ever once it sees two of its keywords.
struct Sleepy;

impl Target for Sleepy {
    fn name(&self) -> &'static str {
        "sleepy"
    }
    fn seeds(&self) -> Vec<Vec<u8>> {
        vec![b"a b c".to_vec()]
    }
    fn dictionary(&self) -> Vec<Vec<u8>> {
        vec![b"sleep".to_vec()]
    }
    fn run(&self, input: &[u8]) {
        while input.windows(5).filter(|w| *w == b"sleep").count() >= 2 {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn boxed(target: impl Target + 'static) -> Box<dyn Target> {
    Box::new(target)
}

#[test]
fn a_trusted_length_is_found_and_made_as_small_as_it_can_be() {
    let finding =
        fuzz(boxed(Trusting), Budget::Iterations(20_000), 1).expect_err("the bug is found");
    assert!(
        matches!(&finding.fault, Fault::Panic { message, .. } if message.starts_with("length ")),
        "{finding}"
    );
    assert_eq!(finding.input.len(), 8, "{finding}");
    assert_eq!(&finding.input[..4], b"MAGC");
    assert_ne!(&finding.input[4..], &[0; 4]);
}

#[test]
fn a_finding_is_the_same_each_time_and_its_input_can_be_made_again() {
    let find =
        || fuzz(boxed(Trusting), Budget::Iterations(20_000), 9).expect_err("the bug is found");
    let finding = find();
    assert_eq!(finding, find());
    let input = Inputs::new(&Trusting, 9).at(finding.index);
    assert_eq!(input.len(), finding.found_len);
    let fault =
        crate::run_once(boxed(Trusting), &input, DEFAULT_LIMIT).expect_err("it fails again");
    assert!(fault.same_place(&finding.fault));
}

#[test]
fn a_careful_parser_survives_and_the_iterations_are_counted() {
    let stats = fuzz(boxed(Careful), Budget::Iterations(5_000), 1).expect("no bug");
    assert_eq!(stats.iterations, 5_000);
    assert!(stats.bytes > 5_000 * 10);
}

#[test]
fn an_input_without_end_is_reported_with_its_limit() {
    let limit = Duration::from_millis(200);
    let finding = fuzz_with(boxed(Sleepy), Budget::Iterations(20_000), 1, limit, |_| {})
        .expect_err("the loop is found");
    assert_eq!(finding.fault, Fault::Slow { limit });
    assert!(finding.input.windows(5).filter(|w| *w == b"sleep").count() >= 2);
}

#[test]
fn a_budget_of_time_ends_in_time() {
    let start = Instant::now();
    let stats = fuzz(boxed(Careful), Budget::Time(Duration::from_millis(100)), 1).expect("no bug");
    assert!(stats.iterations > 10, "{stats:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
}
