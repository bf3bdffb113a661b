//! Answers to requests, in the chat and in the inbox.

use agenthost_frontend::{CustomizationCommand, FormResponse, FrontendCommand};
use agenthost_protocol::wire::Object;
use agenthost_view::customizations::ReviewStatus;
use agenthost_view::inbox::InboxItem;
use agenthost_view::request::{ApprovalCard, RequestCard, RequestOptionKind};

use super::replies::ReplyPurpose;
use super::{FullView, ScreenFocus, TerminalScreen};
use crate::bindings::ScreenAction;
use crate::dialogs::ScreenDialog;
use crate::dialogs::form::FormDialog;
use crate::dialogs::prompt::{PromptDialog, PromptPurpose};
use crate::panes::code_view::CodePane;
use crate::panes::inspector::InspectorKind;
use crate::panes::request_panel::{RequestPanel, default_option};

/// The message for an approval of which the terminal does not have all.
const CUT_MESSAGE: &str =
    "this question is too large for the terminal: deny it, or read it in the page (agenthost open)";

impl TerminalScreen {
    pub(super) fn run_request_action(&mut self, action: ScreenAction) {
        if let Some(FullView::Code(_)) = &self.full {
            return self.answer_code(action);
        }
        match action {
            ScreenAction::NextRequest => {
                self.request.next(&self.model.requests, self.now);
                return;
            }
            ScreenAction::RequestUp | ScreenAction::RequestDown => {
                let panel = match self.focus {
                    ScreenFocus::Inspector => &mut self.inbox_request,
                    ScreenFocus::Sessions | ScreenFocus::Chat | ScreenFocus::Composer => {
                        &mut self.request
                    }
                };
                panel.offset = match action {
                    ScreenAction::RequestUp => panel.offset.saturating_sub(panel.page()),
                    _ => panel.offset + panel.page(),
                };
                return;
            }
            _ => {}
        }
        let Some(card) = self.current_request() else {
            return;
        };
        if !self.focused_panel().takes_answers(self.now) {
            self.show_message("this question has just appeared: press the key again");
            return;
        }
        match (action, card) {
            (_, RequestCard::Approval(card)) => self.answer_approval(action, &card),
            (ScreenAction::Deny, RequestCard::Form(card)) => {
                let command = FrontendCommand::AnswerForm {
                    key: card.key,
                    response: FormResponse::Decline,
                    answers: Object::new(),
                };
                self.command(command, ReplyPurpose::Announce("declined".to_owned()));
            }
            (ScreenAction::Allow | ScreenAction::Option(_), card @ RequestCard::Form(_)) => {
                self.open_request(card);
            }
            (_, RequestCard::Form(_) | RequestCard::SignIn(_)) => {}
        }
    }

    fn focused_panel(&self) -> &RequestPanel {
        match self.focus {
            ScreenFocus::Inspector => &self.inbox_request,
            ScreenFocus::Sessions | ScreenFocus::Chat | ScreenFocus::Composer => &self.request,
        }
    }

    /// Returns the request that the focused pane shows.
    pub(super) fn current_request(&mut self) -> Option<RequestCard> {
        match (self.focus, self.inspector) {
            (ScreenFocus::Inspector, Some(InspectorKind::Inbox)) => {
                let place = self.lists.selected(InspectorKind::Inbox);
                match &self.model.inbox.rows.get(place)?.item {
                    InboxItem::Request { card } => Some(card.clone()),
                    InboxItem::Code { .. }
                    | InboxItem::Token { .. }
                    | InboxItem::Finished { .. } => None,
                }
            }
            _ => self
                .request
                .current(&self.model.requests, self.now)
                .cloned(),
        }
    }

    fn answer_approval(&mut self, action: ScreenAction, card: &ApprovalCard) {
        let place = match action {
            ScreenAction::Allow => default_option(&card.options, RequestOptionKind::Approve),
            ScreenAction::Deny => default_option(&card.options, RequestOptionKind::Deny),
            ScreenAction::Option(place) => Some(place),
            _ => None,
        };
        let Some(option) = place.and_then(|place| card.options.get(place)) else {
            return;
        };
        let is_approval = option.kind == RequestOptionKind::Approve;
        if is_approval && (card.truncated || card.input_uri.is_some()) {
            return self.show_message(CUT_MESSAGE);
        }
        if is_approval && !self.focused_panel().was_read() {
            return self.show_message("read the whole question first: ] scrolls it");
        }
        let command = FrontendCommand::AnswerApproval {
            key: card.key.clone(),
            option_id: option.id.as_ref().map(ToString::to_string),
            approve: is_approval,
            edited_input: None,
        };
        let label = crate::paint::text::clean(&option.label);
        self.command(
            command,
            ReplyPurpose::Announce(format!("answered: {label}")),
        );
    }

    /// Opens a request for an answer that needs more than a key.
    pub(super) fn open_request(&mut self, card: RequestCard) {
        match card {
            RequestCard::Approval(_) => {}
            RequestCard::Form(card) => {
                self.dialog = Some(ScreenDialog::Form(Box::new(FormDialog::new(card))));
            }
            RequestCard::SignIn(card) => self.ask_for_token(&card.token.name, card.token.resource),
        }
    }

    pub(super) fn ask_for_token(&mut self, name: &str, resource: String) {
        let title = format!("Token for {}", crate::paint::text::clean(name));
        let purpose = PromptPurpose::Token(resource);
        let dialog = PromptDialog::new(&title, String::new(), purpose);
        self.dialog = Some(ScreenDialog::Prompt(dialog));
    }

    /// Opens the code of a container for a decision.
    pub(super) fn open_code(&mut self, session: String, key: String) {
        let command = CustomizationCommand::Review { session, key };
        self.command(
            FrontendCommand::Customization(command),
            ReplyPurpose::ErrorsOnly,
        );
        self.full = Some(FullView::Code(CodePane::default()));
    }

    pub(super) fn close_code(&mut self) {
        self.full = None;
        let command = CustomizationCommand::CloseReview {};
        self.command(FrontendCommand::Customization(command), ReplyPurpose::Quiet);
    }

    fn answer_code(&mut self, action: ScreenAction) {
        let Some((review, _)) = &self.model.code else {
            return;
        };
        let (command, message) = match action {
            ScreenAction::Allow if review.status == ReviewStatus::Complete => {
                let code = review.key.clone();
                (CustomizationCommand::Allow { code }, "the code may run")
            }
            ScreenAction::Deny => (CustomizationCommand::Deny {}, "turned off in this session"),
            _ => {
                self.show_message("only code that is shown as a whole can be approved");
                return;
            }
        };
        let purpose = ReplyPurpose::Announce(message.to_owned());
        self.command(FrontendCommand::Customization(command), purpose);
        self.close_code();
    }
}
