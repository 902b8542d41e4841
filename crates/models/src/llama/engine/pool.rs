//! Which pages are free, and how many sequences use each of the others.

/// Pages by number; the lowest free one is not given first, but the one that was freed last.
#[derive(Debug)]
pub(super) struct Pool {
    free: Vec<u32>,
    /// Sequences that use each page.
    users: Vec<u32>,
}

impl Pool {
    pub(super) fn new(pages: u32) -> Pool {
        Pool {
            free: (0..pages).rev().collect(),
            users: vec![0; pages as usize],
        }
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    pub(super) fn pages(&self) -> u32 {
        self.users.len() as u32
    }

    /// Pages that several sequences use.
    pub(super) fn shared(&self) -> usize {
        self.users.iter().filter(|users| **users > 1).count()
    }

    /// A page for one sequence.
    pub(super) fn take(&mut self) -> Option<u32> {
        let page = self.free.pop()?;
        self.users[page as usize] = 1;
        Some(page)
    }

    /// One more sequence uses the page.
    pub(super) fn share(&mut self, page: u32) {
        self.users[page as usize] += 1;
    }

    /// Whether several sequences use the page, so that none may write to it.
    pub(super) fn is_shared(&self, page: u32) -> bool {
        self.users[page as usize] > 1
    }

    /// One sequence less uses the page; the last one frees it.
    pub(super) fn give(&mut self, page: u32) {
        let users = &mut self.users[page as usize];
        *users -= 1;
        if *users == 0 {
            self.free.push(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn a_page_is_free_again_when_its_last_user_gives_it() {
        let mut pool = Pool::new(2);
        let (a, b) = (pool.take(), pool.take());
        assert_eq!((a, b, pool.take()), (Some(0), Some(1), None));
        pool.share(0);
        assert!(pool.is_shared(0) && !pool.is_shared(1));
        assert_eq!(pool.shared(), 1);
        pool.give(0);
        assert_eq!((pool.free(), pool.is_shared(0)), (0, false));
        pool.give(0);
        assert_eq!((pool.free(), pool.take()), (1, Some(0)));
    }
}
