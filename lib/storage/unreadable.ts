/** Field of a row that names those of its columns whose bytes are no text, where there are some. */
export const unreadableColumns = 'unreadable_columns';
