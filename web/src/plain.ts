// Markdown blocks as plain text, for copying and for screen readers.

import type { Block, Inline } from "./contract";

export function plainText(blocks: Block[]): string {
  return blocks.map(blockText).join("\n\n");
}

function blockText(block: Block): string {
  switch (block.kind) {
    case "paragraph":
    case "heading":
      return inlineText(block.children);
    case "code":
      return block.text;
    case "list":
      return block.items
        .map((item, index) => `${block.ordered ? `${(block.start ?? 1) + index}.` : "-"} ${plainText(item.blocks)}`)
        .join("\n");
    case "quote":
      return plainText(block.blocks);
    case "rule":
      return "";
    case "table":
      return [block.head, ...block.rows].map((row) => row.map(inlineText).join("\t")).join("\n");
  }
}

function inlineText(inlines: Inline[]): string {
  return inlines
    .map((inline) => {
      switch (inline.kind) {
        case "text":
        case "code":
          return inline.text;
        case "strong":
        case "emphasis":
        case "strikethrough":
        case "link":
          return inlineText(inline.children);
        case "image":
          return inline.alt;
        case "break":
          return "\n";
      }
    })
    .join("");
}
