//! Locks a mutex without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if a thread panicked while it held the lock.
///
/// Every value behind a mutex in this workspace is valid after each statement, so a panic
/// of another thread does not make it unusable.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_poisoned_mutex_can_be_locked() {
        let mutex = Arc::new(Mutex::new(1));
        let other = Arc::clone(&mutex);
        let panicked = std::thread::spawn(move || {
            let _guard = lock(&other);
            panic!("poison");
        });
        assert!(panicked.join().is_err());
        *lock(&mutex) += 1;
        assert_eq!(*lock(&mutex), 2);
    }
}
