//! Kernels whose specialisation has an element type in it.

use std::{
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
};

/// What a kernel does, for elements of type `T`: as a value it is as its plan.
pub struct Typed<P, T> {
    /// What it does.
    pub plan: P,
    mark: PhantomData<fn() -> T>,
}

impl<P, T> Typed<P, T> {
    /// The kernel that does `plan`.
    pub fn new(plan: P) -> Self {
        Typed {
            plan,
            mark: PhantomData,
        }
    }
}

impl<P: Clone, T> Clone for Typed<P, T> {
    fn clone(&self) -> Self {
        Self::new(self.plan.clone())
    }
}

impl<P: fmt::Debug, T> fmt::Debug for Typed<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl<P: PartialEq, T> PartialEq for Typed<P, T> {
    fn eq(&self, other: &Self) -> bool {
        self.plan == other.plan
    }
}

impl<P: Eq, T> Eq for Typed<P, T> {}

impl<P: Hash, T> Hash for Typed<P, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.plan.hash(state);
    }
}
