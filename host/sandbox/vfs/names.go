package vfs

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldName makes names equal that some file system takes for the same: by case, by the way an accented
// letter is written, or by invisible code points that HFS+ and ext4 pass over.
func FoldName(name string) string {
	lower := true
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 0x80:
			return foldUnicode(name)
		case 'A' <= c && c <= 'Z':
			lower = false
		}
	}
	if lower {
		return name
	}
	return strings.ToLower(name)
}

func foldUnicode(name string) string {
	folded := cases.Fold().String(norm.NFD.String(strings.Map(dropIgnored, name)))
	return norm.NFC.String(strings.Map(dropIgnored, folded))
}

// dropIgnored drops the code points that are not shown: format characters, variation selectors, fillers.
func dropIgnored(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// isGit reports whether some file system takes name for ".git": as FoldName does, or by the short name that
// FAT and NTFS give it.
func isGit(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	folded := FoldName(name)
	return folded == ".git" || folded == "git~1"
}
