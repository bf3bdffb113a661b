//! The mode of the terminal on stdin, and its restoration.

use std::io;

use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// The mode of the terminal at some moment. It is restored when this value is dropped, also by
/// a panic.
pub(crate) struct SavedMode {
    mode: Termios,
}

impl SavedMode {
    /// Saves the mode of the terminal on stdin; `None` if stdin is no terminal.
    pub(crate) fn save() -> Option<Self> {
        let mode = tcgetattr(io::stdin()).ok()?;
        Some(SavedMode { mode })
    }

    /// Saves the mode, and switches to one in which keys are not echoed and lines have no maximum
    /// length. Ctrl-C still sends its signal. Returns `None` if stdin is no terminal.
    pub(crate) fn enter_unechoed() -> io::Result<Option<Self>> {
        let Some(saved) = Self::save() else {
            return Ok(None);
        };
        let mut unechoed = saved.mode.clone();
        unechoed.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        unechoed.special_codes[SpecialCodeIndex::VMIN] = 1;
        unechoed.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Drain, &unechoed)?;
        Ok(Some(saved))
    }

    /// Returns the saved mode.
    pub(crate) fn to_mode(&self) -> Termios {
        self.mode.clone()
    }

    /// Saves the mode, and switches to another one.
    pub(crate) fn switch_to(mode: &Termios) -> Option<Self> {
        let saved = Self::save()?;
        tcsetattr(io::stdin(), OptionalActions::Drain, mode).ok()?;
        Some(saved)
    }

    /// Saves the mode, and switches to the raw mode: keys are neither echoed nor interpreted.
    /// Output is processed as before, so that notes keep their lines. Returns `None` if stdin
    /// is no terminal.
    pub(crate) fn enter_raw() -> io::Result<Option<Self>> {
        let Some(saved) = Self::save() else {
            return Ok(None);
        };
        let mut raw = saved.mode.clone();
        raw.make_raw();
        raw.output_modes = saved.mode.output_modes | OutputModes::OPOST;
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        Ok(Some(saved))
    }
}

impl Drop for SavedMode {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.mode) {
            // A terminal that was closed has no mode to restore.
            tracing::debug!("cannot restore the mode of the terminal: {error}");
        }
    }
}
