package frontmatter

// IsSimple reports whether Parse parses text itself, without the library.
func IsSimple(text string, options Options) bool {
	_, ok := new(simpleParser).parse(text, Options{Depth: DefaultDepth, Line: 1, WithoutComments: options.WithoutComments})
	return ok
}
