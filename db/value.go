package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The codecs of a packed value. The numbers are part of the format.
const (
	codecRaw        byte = 0
	codecZstd       byte = 1 // what stores were written with before there was a dictionary
	codecSpilled    byte = 2 // the value lies in the bucket blobs, under the hash that follows
	codecDictionary byte = 3
)

const (
	packedHead = 1 + 4 // codec, raw length
	sumSize    = 4

	// maxRaw bounds one value, so that damage cannot ask for any memory it likes.
	maxRaw = 1 << 30

	// maxInline is the size that a packed value may have beside its
	// neighbours: a put rewrites its whole leaf page.
	maxInline = 256 << 10

	// minPacked is the size below which compression saves less than it takes.
	minPacked = 128
)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderDictRaw(0, dictionary),
		zstd.WithSingleSegment(true), // every frame says its size
		zstd.WithEncoderCRC(false),   // hashes and seals do that
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // only a bad option can do this
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, dictionary),
		zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // only a bad option can do this
	}
	return d
})

// pack appends codec, raw length and the bytes, compressed where that helps.
func pack(dst, raw []byte) []byte {
	at := len(dst)
	dst = append(dst, codecDictionary)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(raw)))
	if len(raw) >= minPacked {
		dst = encoder().EncodeAll(raw, dst)
		if len(dst)-at-packedHead < len(raw) {
			return dst
		}
	}
	dst[at] = codecRaw
	return append(dst[:at+packedHead], raw...)
}

// packInline is pack for a value that shares its bucket with others: what is
// large becomes a reference, and the puts that write its bytes are returned.
func packInline(dst, raw []byte) ([]byte, []put, error) {
	if len(raw) > maxRaw {
		return nil, nil, ErrTooLarge
	}
	at := len(dst)
	dst = pack(dst, raw)
	if len(dst)-at <= maxInline {
		return dst, nil, nil
	}
	h := Hash(sha256.Sum256(raw))
	puts := blobPuts(h, dst[at:])
	ref := append(bytes.Clone(dst[:at]), codecSpilled)
	ref = binary.BigEndian.AppendUint32(ref, uint32(len(raw)))
	return append(ref, h[:]...), puts, nil
}

// unpack returns the raw bytes of a packed value in memory of their own.
// Spilled values are fetched from the bucket blobs.
func unpack(tx reader, packed []byte) ([]byte, error) {
	codec, size, rest, err := splitPacked(packed)
	if err != nil {
		return nil, err
	}
	switch codec {
	case codecRaw:
		if len(rest) != size {
			return nil, damaged("raw value of %d bytes says %d", len(rest), size)
		}
		return bytes.Clone(rest), nil
	case codecZstd, codecDictionary:
		return inflate(rest, size)
	case codecSpilled:
		if len(rest) != len(Hash{}) {
			return nil, damaged("reference of %d bytes", len(rest))
		}
		raw, err := readBlob(tx, Hash(rest))
		if err == nil && len(raw) != size {
			err = damaged("spilled value of %d bytes says %d", len(raw), size)
		}
		return raw, err
	}
	return nil, damaged("codec %d", codec)
}

func splitPacked(packed []byte) (codec byte, size int, rest []byte, err error) {
	if len(packed) < packedHead {
		return 0, 0, nil, damaged("value of %d bytes", len(packed))
	}
	n := binary.BigEndian.Uint32(packed[1:])
	if n > maxRaw {
		return 0, 0, nil, damaged("value says %d bytes", n)
	}
	return packed[0], int(n), packed[packedHead:], nil
}

// inflate decompresses after the frame has been found to announce that size,
// so that a damaged one cannot make it allocate more.
func inflate(frame []byte, size int) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(frame); err != nil || !head.HasFCS || head.FrameContentSize != uint64(size) {
		return nil, damaged("zstd frame does not hold %d bytes", size)
	}
	raw, err := decoder().DecodeAll(frame, nil)
	if err != nil {
		return nil, damaged("zstd: %v", err)
	}
	if len(raw) != size {
		return nil, damaged("zstd frame gave %d bytes for %d", len(raw), size)
	}
	return raw, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// seal appends the checksum of key and value; it guards values that no hash guards.
func seal(key, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value, checksum(key, value))
}

// unseal returns a sealed value without its checksum, inside the same memory.
func unseal(key, value []byte) ([]byte, error) {
	n := len(value) - sumSize
	if n < 0 || n > math.MaxInt32 {
		return nil, damaged("value of %d bytes", len(value))
	}
	if binary.BigEndian.Uint32(value[n:]) != checksum(key, value[:n]) {
		return nil, damaged("checksum differs")
	}
	return value[:n:n], nil
}
