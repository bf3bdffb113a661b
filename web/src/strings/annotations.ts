// Texts of annotations.

export const annotations = {
  label: "Comments",
};
