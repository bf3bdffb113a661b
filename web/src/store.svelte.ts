// The state of the frontend as the page shows it. Rows are replaced as a whole, so nothing in them is made reactive: a patch
// costs as much as the rows that it names.

import type {
  ChangesView,
  ChatView,
  Composer,
  HostView,
  InboxGroups,
  InboxRow,
  LinkView,
  NoteRow,
  OpenDiff,
  Patch,
  QueueRow,
  SessionGroups,
  SessionRow,
  TimelineRow,
  TimelineState,
} from "./contract";
import type { AnnotationTotals, CommentThread } from "./contract/annotations";
import type { AwaySummary, RestoreView, UsageReport } from "./contract/chats";
import type { SettingsForm } from "./contract/settings";
import type { CustomizationRow, CustomizationsView, ReviewView } from "./contract/customizations";
import type { FileRow, FilesView, OpenFile } from "./contract/files";
import type { TailRow, TerminalsView } from "./contract/terminals";

class RowCell<Row> {
  row = $state.raw() as Row;
  constructor(row: Row) {
    this.row = row;
  }
}

/** Rows by key in an order, and one value beside them. */
export class KeyedSlice<Row, Extra> {
  order = $state.raw<string[]>([]);
  extra = $state.raw() as Extra;
  private readonly cells = new Map<string, RowCell<Row>>();

  constructor(extra: Extra) {
    this.extra = extra;
  }

  /** The row with this key. Reading it subscribes to that row only. */
  row(key: string): Row | undefined {
    const cell = this.cells.get(key);
    // A missing row appears together with a new order.
    return cell === undefined ? void this.order : cell.row;
  }

  apply({ value, order, splice, set }: Patch): void {
    for (const [key, row] of Object.entries(set ?? {})) {
      const cell = this.cells.get(key);
      if (cell === undefined) {
        this.cells.set(key, new RowCell(row as Row));
      } else {
        cell.row = row as Row;
      }
    }
    if (value !== undefined) {
      this.extra = value as Extra;
    }
    if (order !== undefined) {
      this.replaceOrder(order);
    } else if (splice !== undefined) {
      this.replaceOrder(this.order.toSpliced(splice.start, splice.remove, ...splice.keys));
    }
  }

  private replaceOrder(order: string[]): void {
    if (order.length < this.cells.size) {
      const present = new Set(order);
      for (const key of this.cells.keys()) {
        if (!present.has(key)) {
          this.cells.delete(key);
        }
      }
    }
    this.order = order;
  }
}

const EMPTY_COMPOSER: Composer = {
  draft: "",
  running: false,
  canSteer: false,
  placeholder: "message",
  attachments: [],
  models: [],
};

class PageStore {
  link = $state.raw<LinkView>({ state: "connecting", pending: 0 });
  host = $state.raw<HostView>({ name: "", agents: [], folders: [] });
  chat = $state.raw<ChatView | undefined>();
  queue = $state.raw<QueueRow[]>([]);
  composer = $state.raw<Composer>(EMPTY_COMPOSER);
  changes = $state.raw<ChangesView | undefined>();
  diff = $state.raw<OpenDiff | undefined>();
  notes = $state.raw<NoteRow[]>([]);
  restore = $state.raw<RestoreView | undefined>();
  away = $state.raw<AwaySummary | undefined>();
  usage = $state.raw<UsageReport | undefined>();
  settings = $state.raw<SettingsForm | undefined>();
  terminals = $state.raw<TerminalsView>({ rows: [], gone: [] });
  codeReview = $state.raw<ReviewView | undefined>();
  readonly customizations = new KeyedSlice<CustomizationRow, CustomizationsView | null>(null);
  readonly annotations = new KeyedSlice<CommentThread, AnnotationTotals>({ available: false, open: 0, total: 0, hidden: 0, files: {} });
  file = $state.raw<OpenFile | undefined>();
  readonly files = new KeyedSlice<FileRow, FilesView>({ roots: [], crumbs: [], showsHidden: false, isLive: true });
  readonly tails = new KeyedSlice<TailRow, undefined>(undefined);
  readonly sessions = new KeyedSlice<SessionRow, SessionGroups>({ groups: [], total: 0 });
  readonly inbox = new KeyedSlice<InboxRow, InboxGroups>({ alike: [] });
  readonly timeline = new KeyedSlice<TimelineRow, TimelineState>({ loading: false, older: false });

  /** Applies patches in order. A `value` of `null` empties the slice. */
  apply(patches: Patch[]): void {
    for (const patch of patches) {
      this.applyOne(patch);
    }
  }

  private applyOne(patch: Patch): void {
    switch (patch.slice) {
      case "sessions":
        return this.sessions.apply(patch);
      case "inbox":
        return this.inbox.apply(patch);
      case "annotations":
        return this.annotations.apply(patch);
      case "files":
        return this.files.apply(patch);
      case "file":
        this.file = (patch.value ?? undefined) as OpenFile | undefined;
        return;
      case "tails":
        return this.tails.apply(patch);
      case "customizations":
        return this.customizations.apply(patch);
      case "codeReview":
        this.codeReview = (patch.value ?? undefined) as ReviewView | undefined;
        return;
      case "terminals":
        this.terminals = patch.value as TerminalsView;
        return;
      case "timeline":
        return this.timeline.apply(patch);
      case "link":
        this.link = patch.value as LinkView;
        return;
      case "host":
        this.host = patch.value as HostView;
        return;
      case "chat":
        this.chat = (patch.value ?? undefined) as ChatView | undefined;
        return;
      case "queue":
        this.queue = patch.value as QueueRow[];
        return;
      case "composer":
        this.composer = (patch.value ?? EMPTY_COMPOSER) as Composer;
        return;
      case "changes":
        this.changes = (patch.value ?? undefined) as ChangesView | undefined;
        return;
      case "diff":
        this.diff = (patch.value ?? undefined) as OpenDiff | undefined;
        return;
      case "restore":
        this.restore = (patch.value ?? undefined) as RestoreView | undefined;
        return;
      case "away":
        this.away = (patch.value ?? undefined) as AwaySummary | undefined;
        return;
      case "usage":
        this.usage = (patch.value ?? undefined) as UsageReport | undefined;
        return;
      case "settings":
        this.settings = (patch.value ?? undefined) as SettingsForm | undefined;
        return;
      case "notes":
        this.notes = patch.value as NoteRow[];
        return;
    }
  }
}

export const store = new PageStore();
