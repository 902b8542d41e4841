//! What stands in a dump for the arguments of ops.

use super::{
    AccessId, Base, BlockId, Frame, Offset, Ops, OptPred, OptSlot, Pred, Slot, SpanId, Words,
};

/// What can stand in a dump, in one word. Slots are named as the frame has them.
pub(crate) trait Show {
    fn show(&self, frame: &Frame) -> String;
}

impl Show for Slot {
    fn show(&self, frame: &Frame) -> String {
        frame.name(*self)
    }
}

impl Show for OptSlot {
    fn show(&self, frame: &Frame) -> String {
        self.get()
            .map_or("none".to_owned(), |slot| slot.show(frame))
    }
}

impl Show for Pred {
    fn show(&self, frame: &Frame) -> String {
        let not = if self.flip == 0 { "" } else { "!" };
        format!("{not}{}", self.mask.show(frame))
    }
}

impl Show for OptPred {
    fn show(&self, frame: &Frame) -> String {
        self.get()
            .map_or("none".to_owned(), |pred| pred.show(frame))
    }
}

impl Show for Base {
    fn show(&self, frame: &Frame) -> String {
        let bits = if self.wide { 64 } else { 32 };
        let each = if self.scalar { "one" } else { "lanes" };
        format!("{}:{each}{bits}", self.slot.show(frame))
    }
}

impl Show for BlockId {
    fn show(&self, _: &Frame) -> String {
        format!("block{}", self.0)
    }
}

impl Show for AccessId {
    fn show(&self, _: &Frame) -> String {
        format!("access{}", self.0)
    }
}

impl Show for SpanId {
    fn show(&self, _: &Frame) -> String {
        format!("place{}", self.0)
    }
}

impl Show for Words {
    fn show(&self, _: &Frame) -> String {
        format!("words{}", self.0)
    }
}

impl Show for Ops {
    fn show(&self, _: &Frame) -> String {
        self.0.to_string()
    }
}

impl<T: Show, const N: usize> Show for [T; N] {
    fn show(&self, frame: &Frame) -> String {
        // Slots that are nowhere are none.
        let all: Vec<String> = self.iter().map(|one| one.show(frame)).collect();
        let all: Vec<&str> = all
            .iter()
            .map(String::as_str)
            .filter(|one| !one.is_empty())
            .collect();
        format!("[{}]", all.join(","))
    }
}

impl Show for Offset {
    fn show(&self, frame: &Frame) -> String {
        self.get().show(frame)
    }
}

impl Show for u64 {
    fn show(&self, _: &Frame) -> String {
        match self {
            0..=9999 => self.to_string(),
            _ => format!("{self:#x}"),
        }
    }
}

impl Show for u32 {
    fn show(&self, frame: &Frame) -> String {
        u64::from(*self).show(frame)
    }
}

impl Show for u16 {
    fn show(&self, frame: &Frame) -> String {
        u64::from(*self).show(frame)
    }
}

impl Show for u8 {
    fn show(&self, frame: &Frame) -> String {
        u64::from(*self).show(frame)
    }
}

impl Show for bool {
    fn show(&self, _: &Frame) -> String {
        self.to_string()
    }
}

/// Choices that are shown by their name.
macro_rules! choices {
    ($($(#[$doc:meta])* $vis:vis enum $name:ident {
        $($(#[$about:meta])* $choice:ident),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$about])* $choice,)*
        }

        impl $crate::op::Show for $name {
            fn show(&self, _: &$crate::op::Frame) -> String {
                match self {
                    $($name::$choice => stringify!($choice).to_lowercase(),)*
                }
            }
        }
    )*};
}
pub(crate) use choices;
