package page

import (
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// notSimplified replaces the content of a page in which no readable text was found.
const notSimplified = "<error>Page failed to be simplified from HTML</error>"

// maxTags bounds the tags of a page that is simplified: its tree, and the copies of it that are compared, must fit into the memory of a call.
const maxTags = 200_000

// markdown returns the readable part of an HTML page as Markdown.
func markdown(html string) string {
	if strings.Count(html, "<") > maxTags {
		return notSimplified
	}
	parser := readability.NewParser()
	article, err := parser.Parse(strings.NewReader(html), nil)
	if err != nil || article.Node == nil {
		return notSimplified
	}
	convert := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	text, err := convert.ConvertNode(article.Node)
	if err != nil || strings.TrimSpace(string(text)) == "" {
		return notSimplified
	}
	return string(text)
}
