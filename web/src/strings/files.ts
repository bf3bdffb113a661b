// Texts of files.

export const files = {
  label: "Files",
};
