# The few helper functions every folder's CMakeLists.txt uses.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Flags are global so that every target agrees with the precompiled header.
# A case that a switch over a table's enum lacks is an error: adding a row shows what is missing.
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter -Werror=switch)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
endif()
if(FUSEC_SANITIZE)
  add_compile_options(-fsanitize=${FUSEC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FUSEC_SANITIZE})
endif()

# fusec_add_library(NAME SOURCES a.cpp ... DEPS x ...): a library without compiler headers.
function(fusec_add_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC ${ARG_DEPS})
endfunction()

# fusec_library_closure(OUT NAME): NAME and the libraries of this project that it links, directly or not.
function(fusec_library_closure OUT NAME)
  set(found ${NAME})
  set(todo ${NAME})
  while(todo)
    list(POP_FRONT todo next)
    get_target_property(links ${next} LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^Fusec" AND NOT link IN_LIST found)
        list(APPEND found ${link})
        list(APPEND todo ${link})
      endif()
    endforeach()
  endwhile()
  set(${OUT} ${found} PARENT_SCOPE)
endfunction()

# fusec_add_mlir_library(NAME SOURCES a.cpp ... DEPS x ...): a library that sees MLIR through the shared precompiled header.
function(fusec_add_mlir_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC ${ARG_DEPS} MLIR LLVM)
  target_precompile_headers(${NAME} REUSE_FROM FusecMLIRHeaders)
  add_dependencies(${NAME} FusecIncGen)
endfunction()

# fusec_add_test(NAME SOURCES a.cpp ... DEPS x ...): one GoogleTest program = one ctest entry.
function(fusec_add_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE
    FUSEC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" FUSEC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${NAME} COMMAND ${NAME})
endfunction()
