package frontmatter

// IsSimple reports whether Parse parses text itself, without the library.
func IsSimple(text string) bool {
	_, ok := parseSimple(text, Options{Depth: DefaultDepth, Line: 1})
	return ok
}
