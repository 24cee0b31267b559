package risk

import "strings"

// destroysData reports whether a text holds an SQL statement that removes data
// or tables: one of these words anywhere, or a DELETE without a condition. It
// does not parse SQL, so a negative answer proves nothing.
func destroysData(text string) bool {
	words := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z')
	})
	deletes, where := false, false
	for i, word := range words {
		switch word {
		case "DROP", "TRUNCATE", "DROPDATABASE", "DELETEMANY":
			return len(words) > 1
		case "DELETE":
			deletes = deletes || i+1 < len(words) && words[i+1] == "FROM"
		case "WHERE":
			where = true
		}
	}
	return deletes && !where
}
