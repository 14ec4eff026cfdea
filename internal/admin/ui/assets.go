package ui

import "embed"

//go:embed assets vendored/*/*.js
var files embed.FS

// asset is a file that pages load.
type asset struct {
	mediaType string
	content   []byte
}

// assets returns the assets by their paths.
func assets() map[string]asset {
	const script = "text/javascript; charset=utf-8"
	all := map[string]asset{}
	for path, a := range map[string]struct{ file, mediaType string }{
		"/assets/style.css": {"assets/style.css", "text/css; charset=utf-8"},
		"/assets/icon.svg":  {"assets/icon.svg", "image/svg+xml"},
		"/assets/htmx.js":   {"vendored/htmx.org/htmx.min.js", script},
		"/assets/sse.js":    {"vendored/htmx-ext-sse/sse.min.js", script},
	} {
		content, err := files.ReadFile(a.file)
		if err != nil {
			panic(err) // the file is embedded
		}
		all[path] = asset{a.mediaType, content}
	}
	return all
}
