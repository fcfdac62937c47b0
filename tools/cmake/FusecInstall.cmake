# `cmake --install BUILD --prefix P`, and `cpack` for an archive of the same. P can be moved afterwards:
# the tool finds lib/libfusec_compiler.so beside its own bin/.
# `--component runtime` leaves out the tool and the compiler: what programs need that run artifacts.
set(FUSEC_INCLUDE_DIR include/fusec)
set(FUSEC_CMAKE_DIR lib/cmake/fusec)

# Headers below include/fusec, included as here: "runtime/engine/Engine.h".
function(fusec_install_headers FOLDER COMPONENT)
  foreach(root ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    install(DIRECTORY ${root}/${FOLDER}/ DESTINATION ${FUSEC_INCLUDE_DIR}/${FOLDER} COMPONENT ${COMPONENT}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE
      PATTERN capi EXCLUDE)
  endforeach()
endfunction()

# fusec::runtime, the C interface: <fusec/fusec.h>.
target_include_directories(fusec_runtime INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(fusec_runtime PROPERTIES EXPORT_NAME runtime)
install(FILES runtime/capi/fusec.h DESTINATION include/fusec COMPONENT runtime)

# fusec::runtime_cxx, the C++ inside: some of its headers use nlohmann's json.hpp, which is found like other libraries.
target_include_directories(fusec_runtime_cxx INTERFACE $<INSTALL_INTERFACE:${FUSEC_INCLUDE_DIR}>)
target_compile_features(fusec_runtime_cxx INTERFACE cxx_std_20)
set_target_properties(fusec_runtime_cxx PROPERTIES EXPORT_NAME runtime_cxx)
fusec_install_headers(runtime runtime)

install(TARGETS fusec_runtime fusec_runtime_cxx EXPORT fusecRuntimeTargets
  LIBRARY DESTINATION lib COMPONENT runtime NAMELINK_COMPONENT runtime
  ARCHIVE DESTINATION lib COMPONENT runtime)
install(EXPORT fusecRuntimeTargets NAMESPACE fusec:: DESTINATION ${FUSEC_CMAKE_DIR} COMPONENT runtime)

# The same for pkg-config: fusec (C) and fusec-cxx.
foreach(package fusec fusec-cxx)
  configure_file(tools/cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/cmake/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/cmake/${package}.pc DESTINATION lib/pkgconfig COMPONENT runtime)
endforeach()
foreach(example embed-c embed-cpp)
  install(DIRECTORY examples/${example} DESTINATION share/fusec/examples COMPONENT runtime)
endforeach()

# The tool, its compiler, and fusec::plugin: the compiler as plugins link it.
if(TARGET fusec)
  install(TARGETS fusec RUNTIME DESTINATION bin)
  target_include_directories(fusec_compiler INTERFACE $<INSTALL_INTERFACE:${FUSEC_INCLUDE_DIR}>)
  set_target_properties(fusec_compiler PROPERTIES EXPORT_NAME plugin)
  install(TARGETS fusec_compiler EXPORT fusecTargets LIBRARY DESTINATION lib)
  install(EXPORT fusecTargets NAMESPACE fusec:: DESTINATION ${FUSEC_CMAKE_DIR})
  fusec_install_headers(ir Unspecified)
  fusec_install_headers(passes Unspecified)
  install(DIRECTORY examples/ DESTINATION share/fusec/examples PATTERN "embed-*" EXCLUDE)
endif()
install(DIRECTORY docs/ DESTINATION share/doc/fusec)
install(FILES docs/embedding.md README.md LICENSE DESTINATION share/doc/fusec COMPONENT runtime)

include(CMakePackageConfigHelpers)
configure_package_config_file(tools/cmake/fusecConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/fusecConfig.cmake
  INSTALL_DESTINATION ${FUSEC_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/fusecConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/fusecConfig.cmake ${CMAKE_BINARY_DIR}/cmake/fusecConfigVersion.cmake
  DESTINATION ${FUSEC_CMAKE_DIR} COMPONENT runtime)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Fusing compiler and runtime for language models")
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
