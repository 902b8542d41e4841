//! Calls into other crates that may panic: the panic becomes a reason, and nothing is printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// How many calls of [`catch`] this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `call`; if it panics, the panic's message is the error.
///
/// The first call puts a hook before the one that is there: it drops what this thread says inside `catch`, and hands
/// on everything else, of this thread and all others. What `call` was changing is not to be used after a panic.
pub(crate) fn catch<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that is ending has no depth any more, and is in no call.
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
                others(panic);
            }
        }));
    });
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(call));
    DEPTH.set(DEPTH.get() - 1);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("no reason given").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    /// Alone in what it does to the hook: other tests of this crate panic inside `catch` only, or fail.
    #[test]
    fn a_panic_inside_is_a_reason_and_only_others_reach_the_hook() {
        let heard = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&heard);
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            let mine = panic.payload().downcast_ref::<&str>() == Some(&"heard");
            match mine {
                true => drop(count.fetch_add(1, Ordering::Relaxed)),
                false => others(panic),
            }
        }));
        // Whether or not this is the first call, one hook in the chain is ours.
        assert_eq!(catch(|| 7), Ok(7));
        let inside = |what: &'static str| catch(|| std::panic::panic_any(what));
        assert_eq!(inside("a reason"), Err::<(), _>("a reason".to_owned()));
        assert_eq!(
            catch(|| format!("{:?}", catch(|| std::panic::panic_any(8)))),
            Ok::<_, String>("Err(\"no reason given\")".to_owned())
        );
        let number = 3;
        assert_eq!(
            catch(|| assert!(number == 4, "{number} is not 4")),
            Err("3 is not 4".to_owned())
        );
        let outside = std::thread::spawn(|| std::panic::panic_any("heard")).join();
        assert!(outside.is_err());
        assert_eq!(heard.load(Ordering::Relaxed), 1);
    }
}
