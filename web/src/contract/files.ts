// Commands and data of files.

export type FileCommand = never;
