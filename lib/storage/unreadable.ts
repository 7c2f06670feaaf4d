/** Field of a row that names those of its columns whose bytes are not text, where there are some. */
export const unreadableColumns = 'unreadable_columns';
