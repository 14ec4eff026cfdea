package tomlfile_test

import "github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"

func setString(data []byte, table, key, value string) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.SetString(table, key, value) })
}

func setStrings(data []byte, table, key string, values []string) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.SetStrings(table, key, values) })
}

func appendTable(data []byte, array, body string) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.AppendTable(array, body) })
}

func removeTable(data []byte, array string, index int) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.RemoveTable(array, index) })
}

func removeSubtable(data []byte, path [2]string) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.RemoveSubtable(path) })
}

func setTableString(data []byte, array string, index int, key, value string) ([]byte, error) {
	return tomlfile.Edit(data, func(d *tomlfile.Doc) (*tomlfile.Doc, error) { return d.SetTableString(array, index, key, value) })
}
