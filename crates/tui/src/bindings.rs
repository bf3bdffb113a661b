//! The keys of each place. Footer, help and palette are made from this table.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A place on the screen with keys of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// Everywhere but in texts and dialogs.
    Global,
    Sessions,
    Chat,
    /// A chat with an open request.
    Request,
    Inbox,
    Changes,
    Diff,
    Chats,
    Terminals,
    Usage,
    Customizations,
    /// The code of a customization.
    Code,
}

/// The effect of a key or of an entry of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScreenAction {
    Palette,
    Help,
    Quit,
    Suspend,
    Redraw,
    Mouse,
    NextPane,
    PreviousPane,
    SessionsPane,
    ChatPane,
    Back,
    Write,
    NewSession,
    Inbox,
    Changes,
    Chats,
    Terminals,
    Usage,
    Customizations,
    StartHost,
    Up,
    Down,
    PageUp,
    PageDown,
    Start,
    End,
    Left,
    Right,
    Open,
    FilterSessions,
    Rename,
    Archive,
    ShowArchived,
    Delete,
    Fork,
    SelectUp,
    SelectDown,
    Copy,
    Find,
    FindNext,
    RestoreTurn,
    ForkTurn,
    SideChat,
    Cancel,
    Resume,
    Model,
    Settings,
    Queue,
    Allow,
    Deny,
    Option(usize),
    NextRequest,
    RequestUp,
    RequestDown,
    Review,
    UndoFile,
    Operations,
    Commit,
    ChooseChangeset,
    SendReview,
    NextHunk,
    PreviousHunk,
    NextFile,
    PreviousFile,
    Comment,
    ResolveComment,
    Layout,
    NewItem,
    CloseItem,
    SwitchHere,
    SwitchFolder,
    SwitchEverywhere,
    Server,
    Token,
}

/// A key of a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyBinding {
    pub(crate) place: KeyPlace,
    pub(crate) key: &'static str,
    pub(crate) action: ScreenAction,
    pub(crate) label: &'static str,
    /// The footer names the key.
    pub(crate) in_footer: bool,
}

use KeyPlace as At;
use ScreenAction as Do;

const fn main_key(
    place: KeyPlace,
    key: &'static str,
    action: ScreenAction,
    label: &'static str,
) -> KeyBinding {
    KeyBinding {
        place,
        key,
        action,
        label,
        in_footer: true,
    }
}

const fn more_key(
    place: KeyPlace,
    key: &'static str,
    action: ScreenAction,
    label: &'static str,
) -> KeyBinding {
    KeyBinding {
        place,
        key,
        action,
        label,
        in_footer: false,
    }
}

/// All keys. Of two bindings with one action, the first names the key in footer and palette.
pub(crate) const BINDINGS: &[KeyBinding] = &[
    main_key(At::Request, "a", Do::Allow, "allow"),
    main_key(At::Request, "d", Do::Deny, "deny"),
    main_key(At::Request, "1", Do::Option(0), "choose an answer (1-9)"),
    more_key(At::Request, "2", Do::Option(1), ""),
    more_key(At::Request, "3", Do::Option(2), ""),
    more_key(At::Request, "4", Do::Option(3), ""),
    more_key(At::Request, "5", Do::Option(4), ""),
    more_key(At::Request, "6", Do::Option(5), ""),
    more_key(At::Request, "7", Do::Option(6), ""),
    more_key(At::Request, "8", Do::Option(7), ""),
    more_key(At::Request, "9", Do::Option(8), ""),
    main_key(At::Request, "]", Do::RequestDown, "scroll the question"),
    more_key(At::Request, "[", Do::RequestUp, "scroll the question up"),
    more_key(At::Request, "r", Do::NextRequest, "next question"),
    main_key(At::Chat, "i", Do::Write, "write"),
    main_key(At::Chat, "x", Do::Cancel, "cancel the turn"),
    main_key(At::Chat, "enter", Do::Open, "expand, answer"),
    more_key(At::Chat, "up", Do::Up, "scroll up"),
    more_key(At::Chat, "k", Do::Up, ""),
    more_key(At::Chat, "down", Do::Down, "scroll down"),
    more_key(At::Chat, "j", Do::Down, ""),
    more_key(At::Chat, "pgup", Do::PageUp, "page up"),
    more_key(At::Chat, "ctrl+u", Do::PageUp, ""),
    more_key(At::Chat, "pgdn", Do::PageDown, "page down"),
    more_key(At::Chat, "ctrl+d", Do::PageDown, ""),
    more_key(At::Chat, "space", Do::PageDown, ""),
    more_key(At::Chat, "g", Do::Start, "first loaded turn"),
    more_key(At::Chat, "home", Do::Start, ""),
    more_key(At::Chat, "G", Do::End, "newest text, and follow it"),
    more_key(At::Chat, "end", Do::End, ""),
    more_key(At::Chat, "J", Do::SelectDown, "select the next entry"),
    more_key(At::Chat, "K", Do::SelectUp, "select the previous entry"),
    more_key(
        At::Chat,
        "y",
        Do::Copy,
        "copy the selected entry, or the last answer",
    ),
    more_key(At::Chat, "/", Do::Find, "find in this chat"),
    more_key(At::Chat, ".", Do::FindNext, "next match, upwards"),
    more_key(At::Chat, "P", Do::Resume, "go on with the last turn"),
    more_key(At::Chat, "m", Do::Model, "model"),
    more_key(At::Chat, "M", Do::Settings, "mode and settings"),
    more_key(At::Chat, "Q", Do::Queue, "queued messages"),
    more_key(
        At::Chat,
        "R",
        Do::RestoreTurn,
        "restore the state before the selected turn",
    ),
    more_key(At::Chat, "F", Do::ForkTurn, "fork from the selected turn"),
    more_key(At::Chat, "T", Do::SideChat, "side chat about this chat"),
    main_key(At::Sessions, "enter", Do::Open, "open"),
    main_key(At::Sessions, "n", Do::NewSession, "new"),
    main_key(At::Sessions, "/", Do::FilterSessions, "filter"),
    main_key(At::Sessions, "r", Do::Rename, "rename"),
    main_key(At::Sessions, "x", Do::Archive, "archive"),
    more_key(
        At::Sessions,
        "X",
        Do::ShowArchived,
        "show archived sessions",
    ),
    more_key(At::Sessions, "D", Do::Delete, "delete"),
    more_key(At::Sessions, "f", Do::Fork, "fork"),
    more_key(At::Sessions, "up", Do::Up, "up"),
    more_key(At::Sessions, "k", Do::Up, ""),
    more_key(At::Sessions, "down", Do::Down, "down"),
    more_key(At::Sessions, "j", Do::Down, ""),
    more_key(At::Sessions, "pgup", Do::PageUp, "page up"),
    more_key(At::Sessions, "pgdn", Do::PageDown, "page down"),
    more_key(At::Sessions, "g", Do::Start, "first session"),
    more_key(At::Sessions, "home", Do::Start, ""),
    more_key(At::Sessions, "G", Do::End, "last session"),
    more_key(At::Sessions, "end", Do::End, ""),
    main_key(At::Inbox, "a", Do::Allow, "allow"),
    main_key(At::Inbox, "d", Do::Deny, "deny"),
    main_key(At::Inbox, "1", Do::Option(0), "choose an answer (1-9)"),
    more_key(At::Inbox, "2", Do::Option(1), ""),
    more_key(At::Inbox, "3", Do::Option(2), ""),
    more_key(At::Inbox, "4", Do::Option(3), ""),
    more_key(At::Inbox, "5", Do::Option(4), ""),
    more_key(At::Inbox, "6", Do::Option(5), ""),
    more_key(At::Inbox, "7", Do::Option(6), ""),
    more_key(At::Inbox, "8", Do::Option(7), ""),
    more_key(At::Inbox, "9", Do::Option(8), ""),
    main_key(At::Inbox, "enter", Do::Open, "open, answer"),
    more_key(At::Inbox, "]", Do::RequestDown, "scroll the question"),
    more_key(At::Inbox, "[", Do::RequestUp, "scroll the question up"),
    main_key(At::Changes, "enter", Do::Open, "diff"),
    main_key(At::Changes, "v", Do::Review, "reviewed"),
    main_key(At::Changes, "C", Do::Commit, "commit"),
    main_key(At::Changes, "x", Do::UndoFile, "undo the file"),
    more_key(At::Changes, "o", Do::Operations, "all operations"),
    more_key(At::Changes, "b", Do::ChooseChangeset, "choose the changes"),
    more_key(
        At::Changes,
        "R",
        Do::SendReview,
        "send comments to the agent",
    ),
    main_key(At::Diff, "n", Do::NextHunk, "next change"),
    main_key(At::Diff, "p", Do::PreviousHunk, "previous change"),
    main_key(At::Diff, "]", Do::NextFile, "next file"),
    more_key(At::Diff, "[", Do::PreviousFile, "previous file"),
    main_key(At::Diff, "c", Do::Comment, "comment"),
    more_key(
        At::Diff,
        "r",
        Do::ResolveComment,
        "resolve the comment of this line",
    ),
    main_key(At::Diff, "v", Do::Review, "reviewed"),
    more_key(At::Diff, "s", Do::Layout, "side by side or unified"),
    more_key(At::Diff, "x", Do::UndoFile, "undo the file"),
    main_key(At::Diff, "q", Do::Back, "close"),
    more_key(At::Diff, "left", Do::Left, "scroll left"),
    more_key(At::Diff, "right", Do::Right, "scroll right"),
    main_key(At::Chats, "enter", Do::Open, "open"),
    main_key(At::Chats, "o", Do::NewItem, "new chat"),
    main_key(At::Chats, "f", Do::Fork, "fork"),
    main_key(At::Chats, "T", Do::SideChat, "side chat"),
    more_key(At::Chats, "D", Do::CloseItem, "remove the chat"),
    main_key(At::Terminals, "enter", Do::Open, "open"),
    main_key(At::Terminals, "o", Do::NewItem, "new terminal"),
    main_key(At::Terminals, "D", Do::CloseItem, "end"),
    main_key(At::Customizations, "space", Do::SwitchHere, "on/off"),
    main_key(At::Customizations, "enter", Do::Open, "read code"),
    more_key(
        At::Customizations,
        "f",
        Do::SwitchFolder,
        "on/off in this folder",
    ),
    more_key(
        At::Customizations,
        "E",
        Do::SwitchEverywhere,
        "on/off everywhere",
    ),
    main_key(At::Customizations, "o", Do::Server, "start/stop a server"),
    more_key(At::Customizations, "t", Do::Token, "sign in with a token"),
    main_key(At::Code, "a", Do::Allow, "let it run"),
    main_key(At::Code, "d", Do::Deny, "turn it off"),
    main_key(At::Code, "q", Do::Back, "close"),
    main_key(At::Usage, "down", Do::Down, "scroll"),
    main_key(At::Global, "tab", Do::NextPane, "next pane"),
    main_key(At::Global, "A", Do::Inbox, "inbox"),
    main_key(At::Global, "c", Do::Changes, "changes"),
    main_key(At::Global, "ctrl+p", Do::Palette, "commands"),
    main_key(At::Global, "?", Do::Help, "help"),
    main_key(At::Global, "q", Do::Quit, "quit"),
    more_key(At::Global, "ctrl+q", Do::Quit, ""),
    more_key(At::Global, "shift+tab", Do::PreviousPane, "previous pane"),
    more_key(At::Global, "alt+1", Do::SessionsPane, "sessions"),
    more_key(At::Global, "s", Do::SessionsPane, ""),
    more_key(At::Global, "alt+2", Do::ChatPane, "chat"),
    more_key(At::Global, "alt+3", Do::Inbox, ""),
    more_key(At::Global, "alt+4", Do::Changes, ""),
    more_key(At::Global, "alt+5", Do::Chats, ""),
    more_key(At::Global, "i", Do::Write, "write a message"),
    more_key(At::Global, "n", Do::NewSession, "new session"),
    more_key(At::Global, "w", Do::Chats, "chats and workers"),
    more_key(At::Global, "e", Do::Terminals, "terminals"),
    more_key(At::Global, "u", Do::Usage, "usage and cost"),
    more_key(At::Global, "z", Do::Customizations, "customizations"),
    more_key(At::Global, "H", Do::StartHost, "start the host again"),
    more_key(At::Global, "esc", Do::Back, "back"),
    more_key(At::Global, "f1", Do::Help, ""),
    more_key(At::Global, "f12", Do::Mouse, "mouse on or off"),
    more_key(At::Global, "ctrl+l", Do::Redraw, "draw the screen again"),
    more_key(At::Global, "ctrl+z", Do::Suspend, "suspend"),
    more_key(At::Global, "up", Do::Up, "up"),
    more_key(At::Global, "k", Do::Up, ""),
    more_key(At::Global, "down", Do::Down, "down"),
    more_key(At::Global, "j", Do::Down, ""),
    more_key(At::Global, "pgup", Do::PageUp, "page up"),
    more_key(At::Global, "ctrl+u", Do::PageUp, ""),
    more_key(At::Global, "pgdn", Do::PageDown, "page down"),
    more_key(At::Global, "ctrl+d", Do::PageDown, ""),
    more_key(At::Global, "g", Do::Start, "first"),
    more_key(At::Global, "home", Do::Start, ""),
    more_key(At::Global, "G", Do::End, "last"),
    more_key(At::Global, "end", Do::End, ""),
    more_key(At::Global, "enter", Do::Open, "open"),
];

/// Returns the action of a key. The first place that has the key decides.
pub(crate) fn find_action(places: &[KeyPlace], key: &KeyEvent) -> Option<ScreenAction> {
    let name = key_name(key)?;
    places.iter().find_map(|place| {
        let mut bindings = BINDINGS.iter();
        let binding = bindings.find(|binding| binding.place == *place && binding.key == name);
        Some(binding?.action)
    })
}

/// Returns the name of a key in the table, such as `ctrl+p`.
pub(crate) fn key_name(key: &KeyEvent) -> Option<String> {
    let base = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(character) => character.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Tab => "tab".to_owned(),
        KeyCode::BackTab => return Some("shift+tab".to_owned()),
        KeyCode::Esc => "esc".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::PageUp => "pgup".to_owned(),
        KeyCode::PageDown => "pgdn".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::F(number) => format!("f{number}"),
        _ => return None,
    };
    Some(if key.modifiers.contains(KeyModifiers::CONTROL) {
        format!("ctrl+{}", base.to_lowercase())
    } else if key.modifiers.contains(KeyModifiers::ALT) {
        format!("alt+{base}")
    } else {
        base
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_each_key_once() {
        for (index, binding) in BINDINGS.iter().enumerate() {
            let earlier = &BINDINGS[..index];
            let is_new = earlier
                .iter()
                .all(|other| (other.place, other.key) != (binding.place, binding.key));
            assert!(is_new, "{:?} {}", binding.place, binding.key);
        }
    }

    #[test]
    fn the_nearest_place_decides() {
        let key = KeyEvent::new(KeyCode::Char('d'), KeyModifiers::NONE);
        let places = [At::Request, At::Chat, At::Global];
        assert_eq!(find_action(&places, &key), Some(Do::Deny));
        assert_eq!(find_action(&places[1..], &key), None);
        let key = KeyEvent::new(KeyCode::Char('P'), KeyModifiers::CONTROL);
        assert_eq!(find_action(&places, &key), Some(Do::Palette));
    }

    /// A session is deleted, a chat removed and a terminal ended only by a capital letter.
    #[test]
    fn destructive_keys_need_shift() {
        for binding in BINDINGS {
            if matches!(binding.action, Do::Delete | Do::CloseItem) {
                assert_eq!(binding.key, "D");
            }
        }
    }
}
