// Commands on sessions that are created.

import type { NewAttachment } from "../contract";

export type SessionCommand =
  | {
      op: "session.create";
      provider: string;
      folder?: string;
      model?: string;
      /** Settings of the session, such as its mode. */
      config: Record<string, string>;
      text: string;
      attachments: NewAttachment[];
    }
  | { op: "session.resolveConfig"; provider: string; folder?: string; config: Record<string, string> }
  | { op: "session.unsent"; session: string }
  | { op: "session.fork"; session: string };

/** Result of `session.unsent`: the first message of a session that could not be created, with its choices. */
export type UnsentMessage = { text: string; attachments: NewAttachment[]; model?: string; folder?: string; config: Record<string, string> };
