//go:build !unix && !wasip1

package filesystem

func readOS(path string, limit int64) ([]byte, error) { return readFile(OS{}, path, limit) }
