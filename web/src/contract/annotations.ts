// Commands and data of annotations.

export type AnnotationCommand = never;
