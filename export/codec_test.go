package export

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Whoever reads Zstandard reads our pages, whatever their size.
func TestCodec(t *testing.T) {
	var ours codec
	var theirs zstd.Codec
	random := rand.New(rand.NewPCG(1, 2))
	words := [][]byte{[]byte("one "), []byte("another "), []byte("a third ")}
	for _, size := range []int{0, 1, 100, 128 << 10, pageWindow, 5*pageWindow + 7} {
		var page []byte
		for len(page) < size {
			page = append(page, words[random.IntN(len(words))]...)
		}
		page = page[:size]
		packed, err := ours.Encode(nil, page)
		if err != nil || size > 100 && len(packed) > size/2 {
			t.Errorf("%d bytes became %d, %v", size, len(packed), err)
		}
		for _, c := range []interface {
			Decode(dst, src []byte) ([]byte, error)
		}{&ours, &theirs} {
			if got, err := c.Decode(nil, packed); err != nil || !bytes.Equal(got, page) {
				t.Errorf("%d bytes came back as %d, %v", size, len(got), err)
			}
		}
	}
}
