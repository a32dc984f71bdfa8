import { each, type Programs } from './program.ts';

const help = '--help --version';

// Security: names such as `tcp://host`, `http://host/x`, `msl:file` and `|command` reach other machines or run programs, which the
// kinds of paths do not see. So what takes them is asked about.
const ffmpegOptions = `-i:read -y -n -hide_banner -loglevel:text -v:text -stats -nostats -nostdin -ss:text -t:text -to:text -c:text
  -codec:text -vcodec:text -acodec:text -crf:text -preset:text -r:text -s:text -an -vn -sn -map:text -movflags:text -pix_fmt:text -ar:text
  -ac:text -vf:text -af:text -version -codecs -formats -encoders -decoders -filters -h`;

const seeing: Programs = {
  ffprobe: {
    options: `-version -hide_banner -v:text -loglevel:text -show_format -show_streams -show_frames -show_packets -show_chapters
      -show_error -show_entries:text -select_streams:text -of:text -print_format:text -output_format:text -count_frames -count_packets
      -pretty -unit -sexagesimal -i:read -h -help`,
    operands: 'read?',
    words: true,
  },
  mediainfo: { options: `${help} -f --Full --Output:text --Inform:text`, operands: 'read*' },
  exiftool: {
    options: `-a -G -G1 -s -s1 -s2 -s3 -S -j -json -n -u -U -ee -r -csv -g -h -H -l -t -T -X -D -c:text -d:text -ext:text -fast -fast2 -q
      -v -ver -m -duplicates -Make -Model -CreateDate -DateTimeOriginal -GPSPosition -ImageSize -FileType -MIMEType -Orientation -Duration
      -Title -Author -all -list`,
    operands: 'read*',
    words: true,
  },
  soxi: { options: '-trcsdDbBeaVT', operands: 'read+' },
  ...each('pdfinfo pdffonts', {
    options: `${help} -v -h -box -meta -js -struct -url -rawdates -isodates -f:text -l:text -enc:text -upw:text`,
    operands: 'read',
    words: true,
  }),
  pngcheck: { options: '-vqtcfpsx7', operands: 'read+' },
};

const making: Programs = {
  ffmpeg: {
    options: ffmpegOptions,
    operands: 'write*',
    words: true,
    asksWithout: ['-version -codecs -formats -encoders -decoders -filters -h', 'network/remote'],
  },
  ...each('ffplay mpv vlc', {
    options: '-version --version',
    operands: 'read*',
    words: true,
    asksWithout: ['-version --version', 'network/remote'],
  }),
  ...each('convert magick mogrify montage composite compare identify conjure gm animate display import stream', {
    options: '-version --version -list:text -resize:text -quality:text -crop:text -rotate:text -format:text -verbose -density:text -strip',
    operands: 'text*',
    operandsWith: { '-version': '', '--version': '', '-list': '' },
    words: true,
    asksWithout: ['-version --version -list', 'code/unseen'],
  }),
  ...each('sox play rec', {
    options: help,
    operands: 'text*',
    operandsWith: { '--version': '', '--help': '' },
    asksWithout: ['--version --help', 'code/unseen'],
  }),
  // PostScript is a language that reads and writes files.
  ...each('gs ps2pdf pdf2ps ps2ps epstopdf', {
    options: '-v -h --version --help',
    operands: 'text*',
    operandsWith: { '--version': '', '--help': '', '-v': '', '-h': '' },
    asksWithout: ['--version --help -v -h', 'code/unseen'],
  }),
  sips: {
    options: `-g:text --getProperty:text -z:text -Z:text --resampleWidth:text --resampleHeight:text -s:text -r:text --rotate:text
      --out:write -o:write`,
    operands: 'write*',
    operandsWith: { '-g': 'read*', '--getProperty': 'read*' },
  },
  pdftotext: {
    options: `-f:text -l:text -r:text -x:text -y:text -W:text -H:text -layout -fixed:text -raw -nodiag -htmlmeta -tsv -bbox -bbox-layout
      -cropbox -enc:text -eol:text -nopgbrk -q -v -h`,
    operands: 'read write?',
    words: true,
  },
  ...each('pdftoppm pdftocairo pdfimages pdftohtml pdftops pdfseparate', {
    options: `-f:text -l:text -r:text -rx:text -ry:text -o -e -scale-to:text -scale-to-x:text -scale-to-y:text -x:text -y:text -W:text
      -H:text -png -jpeg -jpegopt:text -tiff -svg -pdf -ps -eps -mono -gray -singlefile -all -list -j -q -v -h -c -s -i -noframes -xml
      -stdout -p -print-filenames -jp2 -jbig2`,
    operands: 'read write?',
    words: true,
  }),
  pdfunite: { options: '-v -h', operands: 'read+ write', words: true },
  qpdf: {
    options: `${help} --check --show-npages --requires-password --is-encrypted --show-encryption --list-attachments --json:text?
      --linearize --decrypt --object-streams:text --compress-streams:text --stream-data:text --qdf --empty --pages --progress
      --replace-input`,
    operands: 'write*',
  },
  // Further operands are files of settings, which may name files to write.
  tesseract: {
    options: `${help} -v -h -l:text --psm:text --oem:text --dpi:text --list-langs --print-parameters --help-extra --help-psm --help-oem`,
    operands: 'read write',
    operandsWith: { '--list-langs': '', '--version': '', '--help': '', '-v': '', '--print-parameters': '' },
  },
  ...each('dot neato fdp sfdp twopi circo', {
    options: '-vVOqxyn?h -T:text -o:write -K:text -G:text -N:text -E:text -s:text --version --help',
    operands: 'read*',
    operandsWith: { '-O': 'write*' },
  }),
  ...each('optipng jpegoptim pngcrush advpng gifsicle oxipng', {
    options: `${help} -qvopstfkn -b -m:text --max:text --strip-all --strip-none --all-progressive --size:text -d:write --dest:write
      -o:write? --preserve --force --opt:text --strip:text -O:text?`,
    operands: 'write+',
  }),
  pngquant: {
    options: `${help} --force -f --skip-if-larger --ext:write --quality:text --speed:text -s:text -o:write --output:write --strip --verbose`,
    operands: 'write*',
  },
  ...each('cwebp dwebp gif2webp avifenc avifdec', {
    options: `-q:text -o:write -m:text -z:text -lossless -near_lossless:text -quiet -v -version -h -resize:text -crop:text -mt
      -metadata:text -alpha_q:text -s:text -j:text --min:text --max:text`,
    operands: 'read write?',
    words: true,
  }),
  'rsvg-convert': {
    options: `${help} -w:text --width:text -h:text --height:text -z:text --zoom:text -f:text --format:text -o:write --output:write -d:text
      -p:text -b:text --background-color:text -a --keep-aspect-ratio -x:text -y:text`,
    operands: 'read*',
  },
  ...each('qrencode', { options: `${help} -o:write -s:text -l:text -m:text -t:text -8ikc -d:text -v:text`, operands: 'text?' }),
  zbarimg: { options: `${help} -q --quiet --raw --xml -S:text`, operands: 'read+' },
  ...each('flac lame oggenc opusenc', {
    options: '--help --version -V:text -b:text -q:text -o:write --best --fast --silent --preset:text --bitrate:text -h -d -t -f -s',
    operands: 'read write?',
  }),
};

export const mediaPrograms: Programs = { ...seeing, ...making };
