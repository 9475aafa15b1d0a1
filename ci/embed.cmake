# Turns text files into C arrays: cmake -DSYMBOL=sql -DOUT=dir "-DFILES=a.sql|b.sql" -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
set(header "// Made from text files at build time; edit those.\n#pragma once\n\n")
set(source "#include \"${SYMBOL}.h\"\n")
foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} hex HEX)
    # Writes bytes as characters and not as numbers, because it depends on the machine whether
    # 0xe2 fits a char.
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
    string(APPEND header "extern const char ${SYMBOL}_${name}[];\n")
    string(APPEND source "\nconst char ${SYMBOL}_${name}[] = {${bytes}'\\0'};\n")
endforeach()
file(WRITE ${OUT}/${SYMBOL}.h "${header}")
file(WRITE ${OUT}/${SYMBOL}.c "${source}")
