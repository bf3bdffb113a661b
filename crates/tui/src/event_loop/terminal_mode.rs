//! The modes of the terminal: raw input and the alternate screen. They are ended in any case, also
//! after a panic.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};

/// Saves the title of the window, and restores it.
const SAVE_TITLE: &[u8] = b"\x1b[22;0t";
const RESTORE_TITLE: &[u8] = b"\x1b[23;0t";

/// `true` while the program has the terminal. A panic reads it.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

static PANIC_HOOK: Once = Once::new();

/// The terminal in the mode of the program, until it is dropped.
pub(super) struct TerminalMode {
    has_mouse: bool,
}

impl TerminalMode {
    pub(super) fn enter() -> io::Result<Self> {
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore_after_panic();
                before(panic);
            }));
        });
        let mut mode = TerminalMode { has_mouse: false };
        mode.reenter()?;
        Ok(mode)
    }

    /// Enters the mode, also if another program has changed it meanwhile.
    pub(super) fn reenter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        let mut stdout = io::stdout().lock();
        if !IS_ENTERED.swap(true, Ordering::SeqCst) {
            stdout.write_all(SAVE_TITLE)?;
            let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
            queue!(
                stdout,
                EnterAlternateScreen,
                PushKeyboardEnhancementFlags(flags)
            )?;
        }
        queue!(stdout, EnableBracketedPaste, EnableFocusChange, Hide)?;
        if self.has_mouse {
            queue!(stdout, EnableMouseCapture)?;
        }
        stdout.flush()
    }

    /// Restores the terminal.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        restore()
    }

    pub(super) fn set_mouse(&mut self, is_on: bool) -> io::Result<()> {
        self.has_mouse = is_on;
        if is_on {
            execute!(io::stdout(), EnableMouseCapture)
        } else {
            execute!(io::stdout(), DisableMouseCapture)
        }
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        restore_after_panic();
    }
}

fn restore() -> io::Result<()> {
    if !IS_ENTERED.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    queue!(
        stdout,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        PopKeyboardEnhancementFlags,
        LeaveAlternateScreen,
        Show
    )?;
    stdout.write_all(RESTORE_TITLE)?;
    stdout.flush()?;
    disable_raw_mode()
}

/// Restores the terminal where an error cannot be returned. If that fails, the terminal is gone,
/// and there is no place for a message.
fn restore_after_panic() {
    drop(restore());
}
