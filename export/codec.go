package export

import (
	"sync"

	zlib "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// codec compresses the pages of Parquet files. The library's own makes encoders
// of 8 MB for each file, several at a time.
type codec struct{ zstd.Codec }

// Encode implements compress.Codec.
func (*codec) Encode(dst, src []byte) ([]byte, error) {
	return pageEncoder().EncodeAll(src, dst[:0]), nil
}

// pageWindow is how far back repetitions are found, in bytes: pages are hardly
// longer.
const pageWindow = 1 << 20

// pageEncoder is shared by all files.
var pageEncoder = sync.OnceValue(func() *zlib.Encoder {
	e, err := zlib.NewWriter(nil, zlib.WithEncoderLevel(zlib.SpeedFastest), zlib.WithWindowSize(pageWindow), zlib.WithLowerEncoderMem(true),
		zlib.WithZeroFrames(true), zlib.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
})
