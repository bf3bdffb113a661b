// Customizations as the page shows them: the filter, open containers, and the token that the user enters.

import { SvelteSet } from "svelte/reactivity";
import type { CustomizationKind, TokenRequirement } from "./contract/customizations";

class CustomizationsUi {
  filter = $state("");
  kind = $state<CustomizationKind | undefined>();
  /** Containers that are not as they are by default: closed, or open while a filter is set. */
  readonly toggled = new SvelteSet<string>();
  /** Resources for which the user has sent a token. */
  readonly sent = new SvelteSet<string>();
  /** The token that the user is asked for. */
  token = $state.raw<TokenRequirement | undefined>();

  get filtering(): boolean {
    return this.kind !== undefined || this.filter.trim() !== "";
  }

  isOpen(key: string): boolean {
    return this.toggled.has(key) !== this.filtering;
  }

  toggle(key: string): void {
    if (!this.toggled.delete(key)) {
      this.toggled.add(key);
    }
  }

  setFilter(text: string, kind: CustomizationKind | undefined): void {
    this.filter = text;
    this.kind = kind;
    this.toggled.clear();
  }
}

export const customizations = new CustomizationsUi();
