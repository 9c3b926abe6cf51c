package model

import "strings"

// thinkTags are the tags around reasoning that stands in the text, in the
// spellings that models use, lower case.
var thinkTags = []string{"think", "thinking", "thought", "reasoning", "reasoning_scratchpad"}

// maxBlocks bounds the blocks at the beginning of a text, since each may cost a
// pass over the rest of it.
const maxBlocks = 64

// splitThinking moves the blocks of reasoning at the beginning of a text out of
// it. Tags further on are part of the answer. If nothing is moved, the answer is
// the text as it was.
//
// Templates that open the block in the prompt leave only its end in the reply:
// with orphans set, a text up to such an end is reasoning. An opener without an
// end takes everything.
func splitThinking(text string, orphans bool) (answer, reasoning string) {
	var blocks []string
	rest := text
	for len(blocks) < maxBlocks {
		block, after, found := leadingBlock(rest)
		if !found {
			break
		}
		blocks = append(blocks, block)
		rest = after
	}
	if len(blocks) == 0 {
		block, after, found := orphanBlock(text, orphans)
		if !found {
			return text, ""
		}
		blocks, rest = append(blocks, block), after
	}
	return strings.TrimLeft(rest, " \t\r\n"), joinParagraphs(blocks...)
}

// leadingBlock cuts the block with which a text begins.
func leadingBlock(text string) (block, after string, found bool) {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	tag, inside, ok := cutTag(trimmed, false)
	if !ok {
		return "", text, false
	}
	if start, end := blockEnd(inside, tag); start >= 0 {
		return inside[:start], inside[end:], true
	}
	return inside, "", true
}

// blockEnd finds the closing tag of a block, minding blocks of the same tag
// within it. Without a match it is the first closing tag of the kind, else of
// any kind, else -1.
func blockEnd(text, tag string) (start, end int) {
	start, end = -1, -1
	otherStart, otherEnd := -1, -1
	depth := 1
	for i := 0; ; {
		at := strings.IndexByte(text[i:], '<')
		if at < 0 {
			break
		}
		i += at
		if name, after, ok := cutTag(text[i:], false); ok {
			if name == tag {
				depth++
			}
			i = len(text) - len(after)
			continue
		}
		name, after, ok := cutTag(text[i:], true)
		if !ok {
			i++
			continue
		}
		next := len(text) - len(after)
		switch {
		case name != tag:
			if otherStart < 0 {
				otherStart, otherEnd = i, next
			}
		default:
			if depth--; depth == 0 {
				return i, next
			}
			if start < 0 {
				start, end = i, next
			}
		}
		i = next
	}
	if start < 0 {
		return otherStart, otherEnd
	}
	return start, end
}

// orphanBlock cuts a text at the first closing tag that is not merely mentioned.
// Unless anywhere is set, nothing but space may stand before it.
func orphanBlock(text string, anywhere bool) (block, after string, found bool) {
	for i := 0; ; {
		at := strings.IndexByte(text[i:], '<')
		if at < 0 {
			return "", text, false
		}
		i += at
		if !anywhere && strings.TrimSpace(text[:i]) != "" {
			return "", text, false
		}
		if _, _, ok := cutTag(text[i:], false); ok {
			return "", text, false // an opener in mid-text: the text is about tags
		}
		if _, after, ok := cutTag(text[i:], true); ok && !quoted(text, i) {
			return text[:i], after, true
		}
		i++
	}
}

// quoted reports whether the tag at i is mentioned, not meant.
func quoted(text string, i int) bool {
	return i > 0 && strings.IndexByte("`'\"", text[i-1]) >= 0
}

// cutTag cuts an opening or closing think tag off the beginning of a text.
func cutTag(text string, closing bool) (tag, after string, ok bool) {
	prefix := "<"
	if closing {
		prefix = "</"
	}
	if !strings.HasPrefix(text, prefix) {
		return "", text, false
	}
	name := text[len(prefix):]
	const longest = len("reasoning_scratchpad") + 8
	end := strings.IndexByte(name[:min(len(name), longest)], '>')
	if end < 0 {
		return "", text, false
	}
	after = name[end+1:]
	name = strings.TrimRight(name[:end], " \t\r\n")
	for _, t := range thinkTags {
		if strings.EqualFold(name, t) {
			return t, after, true
		}
	}
	return "", text, false
}

// joinParagraphs joins the texts that are not blank, with an empty line between.
func joinParagraphs(texts ...string) string {
	var found []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			found = append(found, t)
		}
	}
	return strings.Join(found, "\n\n")
}
