//! Equal layers one behind the other, found by what repeats itself in a list.

/// A stretch of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Elements that do not repeat themselves: from, to.
    Plain { from: usize, to: usize },
    /// `period` elements from `from` on, `times` times.
    Repeated {
        from: usize,
        period: usize,
        times: usize,
    },
}

/// The list in stretches: the longest repetition, then those before and behind it. Costs the square of the length.
pub(super) fn parts(list: &[u32]) -> Vec<Stretch> {
    let mut found = Vec::new();
    split(list, 0, &mut found);
    found
}

fn split(list: &[u32], offset: usize, found: &mut Vec<Stretch>) {
    let Some((from, period, times)) = longest(list) else {
        if !list.is_empty() {
            found.push(Stretch::Plain {
                from: offset,
                to: offset + list.len(),
            });
        }
        return;
    };
    let end = from + period * times;
    split(&list[..from], offset, found);
    found.push(Stretch::Repeated {
        from: offset + from,
        period,
        times,
    });
    split(&list[end..], offset + end, found);
}

/// The repetition that covers most, of the shortest period: where it begins, its period, how often.
fn longest(list: &[u32]) -> Option<(usize, usize, usize)> {
    let mut best: Option<(usize, usize, usize)> = None;
    for period in 1..=list.len() / 2 {
        let mut run = 0;
        for at in 0..=list.len() - period {
            let same = list.get(at + period).is_some_and(|next| *next == list[at]);
            if same {
                run += 1;
                continue;
            }
            let times = run / period + 1;
            let covered = times * period;
            // A pair of equal operations is no layer.
            let counts = times >= 2 && (times >= 3 || period >= 3);
            if counts && best.is_none_or(|(_, period, times)| covered > period * times) {
                best = Some((at - run, period, times));
            }
            run = 0;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{Stretch, parts};

    fn plain(from: usize, to: usize) -> Stretch {
        Stretch::Plain { from, to }
    }

    fn repeated(from: usize, period: usize, times: usize) -> Stretch {
        Stretch::Repeated {
            from,
            period,
            times,
        }
    }

    #[test]
    fn layers_are_found_wherever_they_stand() {
        let cases: [(&[u32], &[Stretch]); 8] = [
            (&[], &[]),
            (&[1, 2, 3], &[plain(0, 3)]),
            (&[7, 7], &[plain(0, 2)]),
            (&[7, 7, 7], &[repeated(0, 1, 3)]),
            (
                &[9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8],
                &[plain(0, 1), repeated(1, 3, 3), plain(10, 11)],
            ),
            // an encoder and a decoder
            (
                &[1, 2, 3, 1, 2, 3, 5, 6, 7, 8, 6, 7, 8, 6, 7, 8, 9],
                &[
                    repeated(0, 3, 2),
                    plain(6, 7),
                    repeated(7, 3, 3),
                    plain(16, 17),
                ],
            ),
            // a layer that is cut is not one
            (
                &[1, 2, 3, 4, 1, 2, 3, 4, 1, 2],
                &[repeated(0, 4, 2), plain(8, 10)],
            ),
            (&[1, 2, 1, 2], &[plain(0, 4)]),
        ];
        for (list, want) in cases {
            assert_eq!(parts(list), want, "{list:?}");
        }
        let long: Vec<u32> = (0..2000).map(|at| at % 20).collect();
        assert_eq!(parts(&long), [repeated(0, 20, 100)]);
    }

    #[test]
    fn parts_are_the_whole_list_in_order() {
        let mut state = 1u32;
        for length in 0..60 {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 30
            };
            let list: Vec<u32> = (0..length).map(|_| next()).collect();
            let mut at = 0;
            for part in parts(&list) {
                match part {
                    Stretch::Plain { from, to } => {
                        assert!(from == at && to > from);
                        at = to;
                    }
                    Stretch::Repeated {
                        from,
                        period,
                        times,
                    } => {
                        assert_eq!(from, at);
                        for repeat in 1..times {
                            let other = from + repeat * period;
                            assert_eq!(list[from..][..period], list[other..][..period]);
                        }
                        at += period * times;
                    }
                }
            }
            assert_eq!(at, list.len());
        }
    }
}
